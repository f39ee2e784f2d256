import { moneyEndpoints } from '@flotilla/protocol/money-api'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startLlmUpstream } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

/** Refusals that another attempt does not end, as providers answer them. */
const refusals = {
  'disabled-key': [401, { message: 'Incorrect API key provided.', code: 'invalid_api_key' }],
  'account-off': [403, { message: 'Your account is not active, please check your billing details.' }],
  'quota-code': [
    429,
    {
      message: 'You exceeded your current quota, please check your plan and billing details.',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    },
  ],
  'quota-words': [
    429,
    { message: 'You exceeded your current quota, please check your plan and billing details.' },
  ],
  billing: [402, { message: 'Insufficient credits. Add more to continue.' }],
  'billing-limit': [
    400,
    { message: 'Billing hard limit has been reached', code: 'billing_hard_limit_reached' },
  ],
  'no-model': [404, { message: 'The model `m` does not exist', code: 'model_not_found' }],
} as const satisfies Record<string, readonly [number, object]>
type Refusal = keyof typeof refusals
const names = Object.keys(refusals) as Refusal[]

describe.skipIf(!hasBrowser)('a failed answer in the browser', () => {
  let mesh: MeshProcess
  let browser: Browser
  let provider: LlmUpstream
  beforeAll(async () => {
    ;[provider, browser] = await Promise.all([startLlmUpstream(), openBrowser()])
    provider.answerWith((call, response) => {
      const [status, error] = refusals[String(call.body['model']) as Refusal]
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error }))
    })
    const server = { kind: 'openai-compatible', base_url: provider.baseUrl }
    mesh = await startMesh({
      settings: {
        default_model: 'at-billing/billing',
        providers: Object.fromEntries(names.map((name) => [`at-${name}`, server])),
        models: { 'at-billing/priced': { price: { input_per_mtok: 1000, output_per_mtok: 1000 } } },
      },
    })
    for (const name of names) await mesh.createWorker(name, { model: `at-${name}/${name}` })
    await mesh.createWorker('poor', { model: 'at-billing/priced' })
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all([mesh?.stop(), provider?.close()])
  })

  async function asks(agent: string, width = 1280) {
    const watched = await openPage(browser, mesh.url, { width })
    await watched.open(`/chat/${agent}`)
    const field = watched.page.getByRole('textbox').last()
    await field.fill('Are you there?')
    await field.press('Enter')
    const turn = watched.page.getByRole('log', { name: 'Messages' }).locator('.turn').last()
    await turn.locator('.turn-end').getByText('failed').waitFor()
    return { ...watched, turn }
  }

  it.each(names)(
    'a failed answer after the refusal %s says at once what to do, with its page',
    async (name) => {
      const before = provider.calls.length
      const { page, turn, picture, faults, context } = await asks(name)
      expect(provider.calls.length - before).toBe(1)
      expect(await turn.innerText()).toContain(`at-${name}`)
      await turn
        .getByText(/Settings, Providers and models|at the provider|Check/)
        .first()
        .waitFor()
      if (name === 'quota-code') await picture('chat-quota')
      await turn.getByRole('link', { name: 'Check the provider and its key' }).click()
      await page.getByRole('heading', { name: 'Add a provider' }).waitFor()
      expect(faults).toEqual([])
      await context.close()
    },
  )

  it('a failed answer after a used-up budget says the limit, when it resets, and leads to the budget', async () => {
    const body = { scope: 'agent', id: 'poor', daily_usd: 0.02 }
    expect((await mesh.call(moneyEndpoints.budgetSet, { body })).status).toBe(200)
    const { page, turn, picture, faults, breaches, context } = await asks('poor', 390)
    const words =
      /Out of budget for today: \$0\.02 of the \$0\.02 a day of agent poor is left.*It resets in \d+ (?:h|min|s)/
    await turn.getByText(words).waitFor()
    await picture('chat-budget')
    expect(await breaches()).toEqual([])
    const runId = (await turn.getByRole('link', { name: 'Details' }).getAttribute('href')) ?? ''
    await turn.getByRole('link', { name: 'Raise the budget' }).click()
    await page.getByRole('button', { name: 'Change the budget of poor' }).waitFor()
    await page.goto(`${mesh.url}${runId}`)
    await page.getByText(words).waitFor()
    await page.getByRole('link', { name: 'Raise the budget' }).waitFor()
    expect(faults).toEqual([])
    await context.close()
  })
})

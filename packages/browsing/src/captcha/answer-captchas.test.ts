import { describe, expect, onTestFinished, test } from 'vitest'
import { aBrowserHarness, openShop } from '../../../testing/src/browser-harness.ts'
import type { BrowserHarness } from '../../../testing/src/browser-harness.ts'
import { person } from '../../../testing/src/ledger-harness.ts'
import { fakeCaptchaToken } from '../../../testing/src/fake-captcha-api.ts'
import { createSolverStateTable } from './solver-state-table.ts'

const env = { CAPTCHA_SOLVER_KEY: 'primary-key-0123' }
const both = { ...env, CAPTCHA_SOLVER_KEY_SECONDARY: 'secondary-key-0123' }
const asks = {
  kind: 'hcaptcha',
  host: 'shop.example',
  site_key: '10000000-ffff-ffff-ffff-000000000001',
} as const
const refused = { errorId: 1, errorCode: 'ERROR_ZERO_BALANCE' }

async function atShop(options: Parameters<typeof aBrowserHarness>[0] = { env }) {
  const harness = await aBrowserHarness(options)
  onTestFinished(() => harness.end())
  const run = await openShop(harness)
  const browser = harness.containers.running.get('ada')
  if (!browser) throw new Error('no browser')
  return { harness, run, browser }
}

/**
 * Looks at the page, ends the turn, and advances the clock until the run continues or a person is notified.
 */
async function look({ harness, run, browser }: Awaited<ReturnType<typeof atShop>>) {
  browser.asks = asks
  const before = harness.told.length
  const reply = await harness.act('ada', 'snapshot')
  harness.agents.finish('ada')
  await harness.clock.settle()
  await expect
    .poll(async () => {
      await harness.clock.advance(5000)
      return harness.state(run) === 'running' || harness.told.length > before
    })
    .toBe(true)
  return reply
}

const journaled = (harness: BrowserHarness, action: string) =>
  harness.database
    .prepare('SELECT subject, detail FROM journal WHERE action = ? ORDER BY seq')
    .all(action)
    .map((row) => ({ subject: String(row['subject']), detail: String(row['detail']) }))

const keysAsked = (harness: BrowserHarness) =>
  harness.solver.asked.flatMap(({ method, body }) => (method === 'createTask' ? [body['clientKey']] : []))

describe('a CAPTCHA where a solver is set up', () => {
  test('a CAPTCHA where a solver is set up parks the run until it is answered, and only the answer goes to the page', async () => {
    const shop = await atShop()
    const { harness, browser, run } = shop
    expect(await look(shop)).toMatchObject({
      ok: true,
      notes: [expect.stringContaining('which is being solved for you')],
    })
    expect(harness.state(run)).toBe('running')
    expect(harness.agents.sent.at(-1)?.message).toContain('was solved for you')
    const { kind, host, site_key } = asks
    expect(browser.answers).toEqual([{ kind, host, site_key, token: fakeCaptchaToken }])
    expect(harness.told).toEqual([])
    expect(harness.solver.asked[0]).toMatchObject({
      url: 'https://api.2captcha.com/createTask',
      body: { task: { type: 'HCaptchaTaskProxyless', websiteURL: 'https://shop.example/cart' } },
    })
    const everything = JSON.stringify([
      browser.acted,
      browser.answers,
      harness.agents.sent,
      harness.containers.specs,
    ])
    expect(everything).not.toContain('primary-key')
  })

  test('a CAPTCHA where a solver is set up is charged to its agent: reserved before the request, and settled with the reported cost', async () => {
    const shop = await atShop()
    const { harness } = shop
    await look(shop)
    expect(harness.money('ada')).toEqual({ spentNano: 2_990_000, unconfirmedNano: 0 })
    expect(harness.money('bob')).toEqual({ spentNano: 0, unconfirmedNano: 0 })
    expect(journaled(harness, 'captcha.asked')).toEqual([
      { subject: 'shop.example', detail: expect.stringContaining('"most_usd":0.005') },
    ])
    expect(journaled(harness, 'captcha.solved')).toEqual([
      { subject: 'shop.example', detail: expect.stringContaining('"cost_usd":0.00299') },
    ])
    expect(harness.module.metrics?.()).toContainEqual(
      expect.objectContaining({
        name: 'flotilla_captchas_total',
        samples: expect.arrayContaining([{ labels: { outcome: 'solved' }, value: 1 }]),
      }),
    )
  })

  test('a CAPTCHA where a solver is set up is answered by the secondary key where the primary fails', async () => {
    const shop = await atShop({ env: both, captcha: { secondary_solver_url: 'https://other.example' } })
    const { harness, browser } = shop
    harness.solver.answer = ({ body }) => (body['clientKey'] === env.CAPTCHA_SOLVER_KEY ? refused : undefined)
    await look(shop)
    expect(keysAsked(harness)).toEqual(Object.values(both))
    expect(harness.solver.asked.at(-1)?.url).toBe('https://other.example/getTaskResult')
    expect(browser.answers).toHaveLength(1)
    expect(harness.money('ada').spentNano).toBe(2_990_000)
  })

  test('a CAPTCHA that the solver cannot solve goes to a person, as without a solver', async () => {
    const shop = await atShop()
    const { harness, run, browser } = shop
    harness.solver.answer = () => refused
    await look(shop)
    expect(harness.told).toEqual([expect.stringContaining('flotilla browser ada --open')])
    expect(harness.state(run)).toBe('waiting')
    expect(harness.money('ada').spentNano).toBe(0)
    expect(await harness.browsers(person)).toMatchObject({
      browsers: [{ hand_over: { kind: 'captcha', by: null } }],
    })
    await harness.person('take-over', 'ada', person)
    await harness.person('give-back', 'ada', person)
    await harness.clock.settle()
    expect(harness.state(run)).toBe('running')
    expect(browser.answers).toEqual([])
  })

  test('a CAPTCHA where a solver is set up leaves the browser to a person who comes first, and puts nothing in', async () => {
    const { harness, browser } = await atShop()
    browser.asks = asks
    await harness.act('ada', 'snapshot')
    expect(await harness.act('ada', 'click', { ref: 'e1' })).toMatchObject({
      ok: false,
      message: expect.stringContaining('being answered'),
    })
    expect(await harness.browsers(person)).toMatchObject({ browsers: [{ hand_over: { by: 'solver' } }] })
    await harness.person('take-over', 'ada', person)
    await harness.clock.advance(20_000)
    await expect.poll(() => journaled(harness, 'captcha.solved').length).toBe(1)
    expect(browser.answers).toEqual([])
    expect(await harness.browsers(person)).toMatchObject({ browsers: [{ hand_over: { by: 'human:cli' } }] })
    // The answer was paid for.
    expect(harness.money('ada').spentNano).toBe(2_990_000)
  })

  test('a request without an answer is charged with its reservation, as unconfirmed', async () => {
    const shop = await atShop()
    const { harness } = shop
    harness.solver.answer = ({ method }) =>
      method === 'createTask' ? undefined : { errorId: 0, status: 'processing' }
    await look(shop)
    expect(harness.money('ada')).toEqual({ spentNano: 5_000_000, unconfirmedNano: 5_000_000 })
  })
})

describe('a person is asked at once, and nothing leaves,', () => {
  test.each<[string, Parameters<typeof aBrowserHarness>[0], object]>([
    ['where no key is in the environment', {}, asks],
    ['on a site that the owner lists', { env, captcha: { never_solve: ['*.example'] } }, asks],
    ['where the owner gives no money for it', { env, captcha: { daily_usd: 0 } }, asks],
    ['for a kind that has no token', { env }, { ...asks, kind: 'generic' }],
    ['where the page shows no key', { env }, { ...asks, site_key: null }],
    ['where it is not the page that asks', { env }, { ...asks, host: 'other.example' }],
  ])('%s', async (_what, options, asked) => {
    const { harness, browser } = await atShop(options)
    browser.asks = { ...asks, ...asked }
    expect(await harness.act('ada', 'snapshot')).toMatchObject({
      notes: [expect.stringContaining('a person was asked to solve it')],
    })
    expect(harness.told).toHaveLength(1)
    expect(harness.solver.asked).toEqual([])
    expect(harness.money('ada').spentNano).toBe(0)
  })

  test('a person is asked at once, and nothing leaves, where its agent’s own budget has no room for it', async () => {
    const { harness, browser } = await atShop()
    harness.budget.dailyUsd = 0.001
    browser.asks = asks
    await harness.act('ada', 'snapshot')
    expect(harness.told).toHaveLength(1)
    expect(harness.solver.asked).toEqual([])
    expect(journaled(harness, 'captcha.left')).toEqual([
      { subject: 'shop.example', detail: expect.stringContaining('budget-exhausted') },
    ])
  })

  test('the CAPTCHA solver stops at the owner’s hourly limit over all agents, including previous mesh processes', async () => {
    const shop = await atShop({ env, captcha: { per_hour: 1 } })
    const { harness } = shop
    await look(shop)
    harness.chat('bob', 'buy it too')
    await harness.clock.settle()
    await harness.act('bob', 'navigate', { url: 'https://shop.example/cart' })
    const browser = harness.containers.running.get('bob')
    if (browser) browser.asks = asks
    await harness.act('bob', 'snapshot')
    expect(harness.told).toHaveLength(1)
    expect(keysAsked(harness)).toHaveLength(1)
    // The state with which the next mesh process begins.
    expect(createSolverStateTable(harness.database).read().startedAt).toHaveLength(1)
  })

  test('the CAPTCHA solver stops after three failures in a row, and notifies the owner once', async () => {
    const shop = await atShop()
    const { harness } = shop
    harness.solver.answer = () => refused
    for (const _time of [1, 2, 3, 4]) {
      await look(shop)
      await harness.person('take-over', 'ada', person)
      await harness.person('give-back', 'ada', person)
      await harness.clock.settle()
      // The same page again, with a separate turn each time.
      expect(harness.state(shop.run)).toBe('running')
    }
    expect(keysAsked(harness)).toHaveLength(3)
    expect(harness.told.filter((words) => words.includes('failed 3 times in a row'))).toEqual([
      expect.stringContaining('ERROR_ZERO_BALANCE'),
    ])
    expect(harness.told.filter((words) => words.includes('take over'))).toHaveLength(4)
    expect(journaled(harness, 'captcha.left').at(-1)?.detail).toContain(
      'the solver is in cooldown after failures',
    )
  })
})

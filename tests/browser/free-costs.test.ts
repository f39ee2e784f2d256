import { join } from 'node:path'
import process from 'node:process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startLlmUpstream } from '../support/llm-upstream.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import { wrongWith } from './every-view.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

describe.skipIf(!hasBrowser)('costs of a free model in the browser', () => {
  it('the page of costs says that a model is free, and shows its tokens over time', async () => {
    const provider = await startLlmUpstream()
    onTestFinished(() => provider.close())
    const mesh = await startMesh({
      settings: {
        default_model: 'here/m',
        providers: { here: { kind: 'openai-compatible', base_url: provider.baseUrl, local: true } },
      },
    })
    onTestFinished(() => mesh.stop())
    await mesh.ask('How many licences?', { agent: 'operator' })
    const browser = await openBrowser()
    onTestFinished(() => browser.close())
    const watched = await openPage(browser, mesh.url)
    const { page, openWhole } = watched
    await openWhole('/costs', 'The whole fleet')
    const spent = page.locator('.figure', { hasText: 'Spent in 30 days' })
    expect(await spent.locator('.value').textContent()).toBe('free')
    expect(await page.getByText('By the month’s end').count()).toBe(0)
    await page.getByRole('region', { name: 'Tokens a day' }).locator('canvas').waitFor()
    const row = page.locator('tr', { hasText: 'operator' })
    expect(await row.locator('[data-label="Dollars"]').textContent()).toBe('free')
    expect(await row.locator('[data-label="Tokens read"]').textContent()).not.toBe('0')
    await page.getByLabel('Group by').selectOption('hour')
    await page.getByRole('region', { name: 'Tokens an hour' }).locator('canvas').waitFor()
    expect(await wrongWith(watched, 'costs-free')).toEqual([])
  })

  it('the pages of costs, a run and an agent say which tokens a harness reported', async () => {
    const command = [process.execPath, join(repositoryRoot, 'tests', 'support', 'acp-harness.mjs')]
    const mesh = await startMesh({
      cassettes: { idle: aCassette({ when: 'nothing', turns: [says('Nothing.')] }) },
      settings: { agents: { coder: { harness: { command } } } },
    })
    onTestFinished(() => mesh.stop())
    await mesh.createWorker('coder')
    const usage = { usage: { totalTokens: 1500, inputTokens: 1400, outputTokens: 100 } }
    const { id } = await mesh.ask(`say Done.\nusage ${JSON.stringify(usage)}`, { agent: 'coder' })
    const browser = await openBrowser()
    onTestFinished(() => browser.close())
    const watched = await openPage(browser, mesh.url)
    const { page, open, openWhole } = watched
    await openWhole('/costs', 'The whole fleet')
    const reported = page.locator('.figure', { hasText: 'Tokens reported by the harness, unpriced' })
    expect(await reported.locator('.value').textContent()).toBe('1.5k')
    const row = page.locator('tr', { hasText: 'coder' })
    expect(await row.locator('[data-label="Dollars"]').textContent()).toBe('unpriced')
    expect(await wrongWith(watched, 'costs-reported')).toEqual([])
    await open(`/runs/${id}`)
    await page.getByText('reported by the harness, unpriced').first().waitFor()
    await page.getByText('1.5k of these tokens, reported by the harness').waitFor()
    await open('/agents/coder')
    await page.getByText('Outside of the mesh').waitFor()
    await page.getByText('1.5k, reported by the harness, unpriced').waitFor()
  })
})

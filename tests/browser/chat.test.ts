import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'
import { hostileText } from './dashboard-cassette.ts'
import { startDashboardFleet } from './dashboard-fleet.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

describe.skipIf(!hasBrowser)('a conversation in the browser', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startDashboardFleet(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  async function chatWith(agent: string) {
    const watched = await openPage(browser, mesh.url)
    await watched.open(`/chat/${agent}`)
    const say = async (words: string) => {
      await watched.page.getByRole('textbox').last().fill(words)
      await watched.page.keyboard.press('Enter')
    }
    return { ...watched, say, log: watched.page.getByRole('log', { name: 'Messages' }) }
  }

  it('streams an answer, with the tool it used, what it was given and gave, and what the turn cost', async () => {
    const { page, say, log, faults, picture, context } = await chatWith('scribe')
    await say('audit the licences')
    await log.getByRole('table').waitFor()
    const step = log.locator('details.tool')
    await step.locator('summary').click()
    expect(await step.getByRole('region', { name: 'Arguments of run_command' }).textContent()).toContain(
      'printf',
    )
    expect(await step.getByRole('region', { name: 'Result of run_command' }).textContent()).toContain(
      'left-pad none',
    )
    const end = log.locator('.turn-end')
    expect(await end.textContent()).toMatch(/done.*\$0.*tokens/)
    await picture('chat-turn')
    const [run] = await mesh.runs(1)
    expect(run).toMatchObject({ state: 'done', origin: { kind: 'human', channel: 'dashboard' } })
    await end.getByRole('link', { name: 'Details' }).click()
    await page.getByRole('heading', { name: run?.id ?? '' }).waitFor()
    await page.goBack()
    // What was said is still there, though the page was left.
    await log.getByRole('table').waitFor()
    await page.reload()
    await log.getByRole('table').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('is steered while it works, stopped, and asked again', async () => {
    const { page, say, log, faults, context } = await chatWith('scribe')
    await say('slow work')
    await log.locator('details.tool').last().waitFor()
    await page.getByRole('textbox', { name: /while it works/ }).waitFor()
    await say('mind the gap')
    await page.getByText('is told before its next step').waitFor()
    const [run] = await mesh.runs(1)
    expect(run?.steers).toMatchObject([{ text: 'mind the gap' }])
    await page.getByRole('button', { name: 'Stop' }).click()
    await log.locator('.turn-end').last().getByText('cancelled').waitFor()
    expect((await mesh.ended(run?.id ?? '')).state).toBe('cancelled')
    await log.getByRole('button', { name: 'Ask again' }).click()
    await expect.poll(async () => (await mesh.runs(1))[0]?.input).toMatchObject({ message: 'slow work' })
    await page.getByRole('button', { name: 'Stop' }).click()
    await log.locator('.turn-end').getByText('cancelled').nth(1).waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('shows hostile text as text: in names, results of tools and markdown nothing runs and nothing is fetched', async () => {
    verifies('limits:dashboard-auto-escaping')
    const { page, say, log, faults, open, context } = await chatWith('scribe')
    await say('hostile words please')
    await log.locator('.turn-end').getByText('done').first().waitFor()
    await log.locator('details.tool summary').last().click()
    expect(await log.getByRole('region', { name: 'Result of run_command' }).last().textContent()).toContain(
      hostileText.slice(0, 28),
    )
    expect(await log.locator('img, script, iframe, svg[onload], [onerror]').count()).toBe(0)
    const addresses = await log
      .locator('a')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href')))
    expect(addresses.filter((href) => /^(?:javascript|data):/i.test(href ?? ''))).toEqual([])
    await mesh.submit('remove doomed')
    for (const [path, shows] of [
      ['/fleet', 'doomed'],
      ['/approvals', 'is stopped and removed'],
      ['/runs', 'hostile words please'],
      ['/journal', 'run.submitted'],
    ] as const) {
      await open(path)
      await page.locator('[data-line=live]').first().waitFor({ state: 'attached' })
      await page.locator('main').getByText(shows).filter({ visible: true }).first().waitFor()
      expect(await page.locator('main img, main script, main iframe, main [onerror]').count(), path).toBe(0)
    }
    expect(faults).toEqual([])
    await context.close()
  })
})

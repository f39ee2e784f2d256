import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startDashboardFleet } from './dashboard-fleet.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

describe.skipIf(!hasBrowser)('ways to a page', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startDashboardFleet(), openBrowser()])
    await mesh.ask('audit the licences', { agent: 'scribe', session: 'dashboard' })
    // This run waits for the approval of a person.
    await mesh.submit('remove tryout')
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  it('ways to a page are keys, which are listed, and which a field keeps', async () => {
    const { page, open, faults, picture, breaches, context } = await openPage(browser, mesh.url)
    const palette = page.waitForResponse(/\/assets\/palette-[^/]+\.js$/)
    await open('/fleet')
    await palette
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('g c').waitFor()
    await picture('keys')
    expect(await breaches()).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
    await page.getByRole('searchbox', { name: 'Search runs' }).focus()
    await page.keyboard.type('gc?')
    expect(await page.getByRole('searchbox', { name: 'Search runs' }).inputValue()).toBe('gc?')
    expect(new URL(page.url()).pathname).toBe('/runs')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Page or agent' }).fill('audit the lic')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'audit the licences' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Page or agent' }).fill('browsers')
    await page.keyboard.press('Enter')
    await expect.poll(() => new URL(page.url()).pathname).toBe('/settings/browsers')
    expect(faults).toEqual([])
    await context.close()
  })

  it.each([1280, 390])('what a run waits for is in its conversation, %s pixels wide', async (width) => {
    const { page, open, faults, picture, breaches, context } = await openPage(browser, mesh.url, { width })
    const run = (await mesh.runs(20)).find(
      ({ agent_id: id, state }) => id === 'operator' && state === 'waiting',
    )
    const session = run?.input.kind === 'chat' ? run.input.session : ''
    await open(`/chat/operator?session=${encodeURIComponent(session)}`)
    const log = page.getByRole('log', { name: 'Messages' })
    await log
      .getByRole('region', { name: /tryout/ })
      .getByText('is stopped and removed')
      .waitFor()
    await log.getByRole('button', { name: 'Refuse' }).waitFor()
    await picture(`chat-approval-${width}`)
    expect(await breaches()).toEqual([])
    await log.getByRole('button', { name: 'Approve …' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).waitFor()
    await open('/fleet')
    const card = page
      .getByRole('listitem')
      .filter({ has: page.getByRole('link', { name: 'operator', exact: true }) })
    await card
      .getByText('Waits for your approval: ')
      .getByRole('link', { name: /tryout/ })
      .waitFor()
    expect(faults).toEqual([])
    await context.close()
  })
})

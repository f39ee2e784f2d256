import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startDashboardFleet } from './dashboard-fleet.ts'
import { wrongWith } from './every-view.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

describe.skipIf(!hasBrowser)('conversations in the browser', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startDashboardFleet(), openBrowser()])
    await mesh.ask('show me code', { agent: 'scribe', session: 'dashboard' })
    await mesh.ask('Compare the licences of all packages', { agent: 'scribe', session: 'terminal' })
    for (const session of ['one', 'two', 'three'])
      await mesh.ask(`Number ${session}`, { agent: 'scribe', session })
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  it('conversations begin with three things to try and a tour that can be skipped', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    await open('/')
    await expect.poll(() => new URL(page.url()).pathname).toBe('/chat/operator')
    const offers = page.getByRole('group', { name: 'Things to try' }).getByRole('button')
    await offers.first().waitFor()
    expect(await offers.count()).toBe(3)
    expect(await wrongWith(watched, 'chat-first')).toEqual([])
    await page.getByRole('button', { name: 'Show me around' }).click()
    const tour = page.getByRole('dialog')
    await tour.getByText('Step 1 of 4').waitFor()
    await tour.getByRole('button', { name: 'Next' }).click()
    await tour.getByText('Step 2 of 4').waitFor()
    await watched.picture('tour')
    await tour.getByRole('button', { name: 'Skip' }).click()
    await tour.waitFor({ state: 'detached' })
    const words = await offers.first().innerText()
    await offers.first().click()
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Message to operator' }).inputValue())
      .toBe(words)
    expect(faults).toEqual([])
    await context.close()
  })

  it('conversations fold their steps, and show their times, exit codes, colored code and the question again', async () => {
    const watched = await openPage(browser, mesh.url)
    const { page, open, faults, context } = watched
    await open('/chat/scribe')
    const log = page.getByRole('log', { name: 'Messages' })
    const steps = log.locator('details.steps')
    await steps.getByText(/^2 steps, /).waitFor()
    await steps.getByText('1 failed').waitFor()
    expect(await steps.locator('details.tool').first().isVisible()).toBe(false)
    await steps.locator('summary').first().click()
    await steps.getByText(/^exit 3, /).waitFor()
    await steps.getByText(/^exit 0, /).waitFor()
    await log.locator('.hljs-keyword').getByText('const').waitFor()
    // Code without a language has no colors.
    expect(await log.locator('pre', { hasText: 'plain text' }).locator('span').count()).toBe(0)
    expect(await wrongWith(watched, 'chat-steps')).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    await log.getByText('show me code', { exact: true }).hover()
    await log.getByRole('button', { name: 'Edit the question' }).click()
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Message to scribe' }).inputValue())
      .toBe('show me code')
    expect(faults).toEqual([])
    await context.close()
  })

  it('conversations are listed wherever they began, searched, and named', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    await open('/chat/scribe')
    const list = page.getByRole('region', { name: 'Conversations with scribe' })
    await list.getByRole('button', { name: /Compare the licences/ }).click()
    await page.getByRole('region', { name: 'Conversation with scribe, terminal' }).getByText('Yes.').waitFor()
    await list.getByRole('button', { name: /^Name …/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Licences')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await list.getByRole('button', { name: /^Licences/ }).waitFor()
    // The mesh keeps the name, so that another browser shows it.
    const other = await openPage(browser, mesh.url)
    await other.open('/chat/scribe')
    await other.page.getByRole('button', { name: /^Licences/ }).waitFor()
    await other.context.close()
    await list.getByRole('button', { name: 'New conversation with scribe' }).click()
    await expect.poll(() => new URL(page.url()).search).toContain('dashboard-2')
    await picture('chat-conversations')
    await list.getByRole('searchbox', { name: 'Search conversations' }).fill('LICEN')
    expect(await list.getByRole('listitem').count()).toBe(1)
    // The menu returns to the conversation that was open last.
    const menu = page.getByRole('navigation', { name: 'Pages', exact: true })
    await menu.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
    await menu.getByRole('link', { name: 'Chat' }).click()
    await page.getByRole('region', { name: 'Conversation with scribe, dashboard-2' }).waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('conversations on a phone are chosen by keyboard, searched, named and begun in a sheet', async () => {
    const { page, open, faults, picture, breaches, context } = await openPage(browser, mesh.url, {
      width: 390,
      theme: 'dark',
    })
    await open('/chat/scribe')
    const opens = page.getByRole('button', { name: 'Conversations with scribe' })
    await opens.focus()
    await page.keyboard.press('Enter')
    const sheet = page.getByRole('dialog', { name: 'Conversations with scribe' })
    await sheet.getByRole('searchbox', { name: 'Search conversations' }).fill('number two')
    await picture('phone-conversations')
    expect(await breaches()).toEqual([])
    await sheet.getByRole('button', { name: /^Number two/ }).focus()
    await page.keyboard.press('Enter')
    await sheet.waitFor({ state: 'detached' })
    await page.getByRole('region', { name: 'Conversation with scribe, two' }).getByText('Yes.').waitFor()
    await opens.click()
    await sheet.getByRole('button', { name: /^Name …/ }).click()
    const naming = page.getByRole('dialog', { name: 'Name this conversation' })
    await naming.getByLabel('Name').fill('On the phone')
    await page.keyboard.press('Enter')
    await sheet.getByRole('button', { name: /^On the phone/ }).waitFor()
    await page.keyboard.press('Escape')
    await sheet.waitFor({ state: 'detached' })
    await opens.click()
    await sheet.getByRole('button', { name: 'New conversation with scribe' }).click()
    await page.getByRole('region', { name: /^Conversation with scribe, dashboard-\d/ }).waitFor()
    // To start over names the conversation as the person sees it, and no session.
    await opens.click()
    await sheet.getByRole('button', { name: /^On the phone/ }).click()
    await page.getByRole('button', { name: 'Start over' }).click()
    await page.getByRole('dialog').getByText('no longer remembers “On the phone”').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('conversations show the files of a message, and pictures among them', async () => {
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    await open('/chat/courier')
    await page.getByLabel('Files for courier', { exact: true }).setInputFiles([
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('three words here') },
      { name: 'shot.png', mimeType: 'image/png', buffer: await page.screenshot() },
    ])
    await page.getByRole('list', { name: 'Attached files' }).getByText('shot.png').waitFor()
    await page.getByRole('textbox').last().fill('Keep them')
    await page.keyboard.press('Enter')
    const log = page.getByRole('log', { name: 'Messages' })
    await log.locator('.turn-end').getByText('done').waitFor()
    const files = log.getByRole('list', { name: 'Files of this message' })
    await files.getByText('notes.txt').first().waitFor()
    expect(await log.getByText('Attached files:').count()).toBe(0)
    const entry = page
      .getByRole('region', { name: 'Conversations with courier' })
      .getByRole('button', { name: /^Keep them/ })
    await entry.getByText(/^\d\d:\d\d/).waitFor()
    expect(await entry.getByText('no messages yet').count()).toBe(0)
    await files.getByRole('button', { name: 'Show shot.png' }).click()
    await log.getByRole('img', { name: 'shot.png' }).waitFor()
    const saved = page.waitForEvent('download')
    await files.getByRole('button', { name: 'Save notes.txt' }).click()
    expect((await saved).suggestedFilename()).toBe('notes.txt')
    expect(faults).toEqual([])
    await context.close()
  })

  it('conversations on a phone have a bar with the pages that are opened most, and the menu', async () => {
    const { page, open, faults, breaches, picture, context } = await openPage(browser, mesh.url, {
      width: 390,
      theme: 'dark',
    })
    await open('/chat/scribe')
    const bar = page.getByRole('navigation', { name: 'Pages of the bar' })
    expect(await bar.getByRole('link', { name: 'Chat' }).getAttribute('aria-current')).toBe('page')
    const [composer, edge] = [await page.locator('.composer').boundingBox(), await bar.boundingBox()]
    expect((composer?.y ?? 0) + (composer?.height ?? 0)).toBeLessThanOrEqual((edge?.y ?? 0) + 1)
    await picture('phone-bar')
    expect(await breaches()).toEqual([])
    await bar.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
    await bar.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('dialog', { name: 'Menu' }).getByRole('link', { name: 'Costs' }).click()
    await page.getByRole('heading', { name: 'Costs', exact: true }).waitFor()
    expect(faults).toEqual([])
    await context.close()
  })
})

import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'
import { wrongWith } from './every-view.ts'
import { startDashboardFleet } from './dashboard-fleet.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'
import type { WatchedPage } from './open-browser.ts'

/** Most bytes, compressed, that the first page loads before it shows its frame. */
const firstLoadMaxBytes = 152 * 1024

const pages = [
  { name: 'chat', path: '/chat/scribe', shows: 'left-pad states no licence' },
  { name: 'fleet', path: '/fleet', shows: 'Spent today' },
  { name: 'agent', path: '/agents/scribe', shows: 'The whole fleet' },
  { name: 'runs', path: '/runs', shows: 'audit the licences' },
  { name: 'work', path: '/work', shows: 'No task yet' },
  { name: 'blackboard-empty', path: '/blackboard', shows: 'No entries yet' },
  { name: 'approvals', path: '/approvals', shows: 'is stopped and removed' },
  { name: 'policy-none', path: '/policy', shows: 'Nothing was stopped' },
  { name: 'costs', path: '/costs', shows: 'The whole fleet' },
  { name: 'wallet-none', path: '/wallet', shows: 'No wallet yet' },
  { name: 'triggers', path: '/triggers', shows: 'Send the morning report.' },
  { name: 'journal', path: '/journal', shows: 'agent.created' },
  { name: 'settings-providers', path: '/settings', shows: 'Default model' },
  { name: 'settings-integrations', path: '/settings/integrations', shows: 'No webhook can start' },
  { name: 'settings-channels', path: '/settings/channels', shows: 'No channel is on yet' },
  { name: 'settings-credentials', path: '/settings/credentials', shows: 'No credential is stored' },
  { name: 'settings-limits', path: '/settings/limits', shows: 'The whole fleet' },
  { name: 'settings-people', path: '/settings/people', shows: 'Only you' },
  { name: 'settings-browsers', path: '/settings/browsers', shows: 'Browsers' },
  { name: 'settings-backup', path: '/settings/backup', shows: 'No backup yet' },
  { name: 'welcome', path: '/welcome', shows: 'A question' },
  { name: 'run', path: '/runs/:run', shows: 'What happened' },
  { name: 'design', path: '/design', shows: 'text-5' },
] as const

describe.skipIf(!hasBrowser)('the pages', () => {
  let mesh: MeshProcess
  let browser: Browser
  let runId = ''
  let looked: WatchedPage | undefined
  /** The page that all tests of this file share, reset to its first width. */
  async function aPage(): Promise<WatchedPage> {
    looked ??= await openPage(browser, mesh.url)
    await looked.page.setViewportSize({ width: 1280, height: 800 })
    return looked
  }
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startDashboardFleet(), openBrowser()])
    const [run] = await Promise.all([
      mesh.ask('audit the licences', { agent: 'scribe', session: 'dashboard' }),
      // This run waits for the approval of a person.
      mesh.submit('remove tryout'),
      mesh.ask('hostile', { agent: 'scribe', session: 'hostile' }),
    ])
    runId = run.id
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  it.each(pages)('$name is whole, quiet and readable in both themes and widths', async (one) => {
    const watched = await aPage()
    await watched.turnTo(one.path.replace(':run', runId), one.shows, one.name === 'design' ? 4 : 0)
    expect(await wrongWith(watched, one.name)).toEqual([])
  })

  it('the pages load little before the first of them is there, and nothing from anywhere else', async () => {
    verifies('limits:dashboard-csp')
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    await open('/fleet')
    await page.locator('[data-line=live]').waitFor()
    // The page loads what its document names before it shows anything, and everything else with the view that needs
    // it.
    const document = await (await fetch(mesh.url)).text()
    const first = [...document.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '')
    const bodies = await Promise.all(
      ['/', ...first].map(async (path) => Buffer.from(await (await fetch(mesh.url + path)).arrayBuffer())),
    )
    const bytes = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0)
    expect(first.length).toBeGreaterThanOrEqual(2)
    expect(bytes).toBeLessThan(firstLoadMaxBytes)
    const policy = (await fetch(mesh.url)).headers.get('content-security-policy') ?? ''
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(faults).toEqual([])
    await context.close()
  })

  it('the pages are reached by keyboard alone', async () => {
    const { page, open, context } = await openPage(browser, mesh.url)
    // The palette is loaded before it is opened, so that keys typed at once are not lost.
    const palette = page.waitForResponse(/\/assets\/palette-[^/]+\.js$/)
    await open('/fleet')
    expect((await palette).status()).toBe(200)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Page or agent' }).waitFor()
    await page.keyboard.type('jour')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Journal' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/journal')
    await page.reload()
    await page.keyboard.press('Tab')
    await page.getByRole('link', { name: 'Skip to the page' }).press('Enter')
    expect(await page.evaluate('document.activeElement?.id')).toBe('content')
    await context.close()
  })
})

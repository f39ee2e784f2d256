import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startDashboardFleet } from './dashboard-fleet.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

describe.skipIf(!hasBrowser)('pages whose mesh or file is gone', () => {
  let mesh: MeshProcess
  let browser: Browser
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startDashboardFleet(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  beforeEach(() => mesh?.restartIfStopped())

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)(
    'pages say that the mesh is gone, change nothing, and come back by themselves (%i px, %s)',
    async (width, theme) => {
      const { page, openWhole, picture, breaches, faults, context } = await openPage(browser, mesh.url, {
        width,
        theme,
      })
      await openWhole('/chat/scribe', 'scribe')
      await mesh.terminate()
      const banner = page.getByText('The mesh does not answer.')
      await banner.waitFor()
      expect(await page.getByRole('textbox').last().isDisabled()).toBe(true)
      expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
      // The page still shows the old data, in gray and with their age.
      expect(await page.locator('.content.gone').getByText('scribe').count()).toBeGreaterThan(0)
      await page.locator('.gone-banner time').waitFor()
      await picture(`mesh-gone-${width}`)
      expect(await breaches()).toEqual([])
      // A page whose code was not loaded before also says that the mesh does not answer, and names no missing file.
      await page.evaluate("history.pushState(null, '', '/costs')")
      await page.getByText('Not loaded yet. It is loaded when the mesh answers.').first().waitFor()
      expect(await page.getByText('dynamically imported').count()).toBe(0)
      // The banner says it once: no box below it repeats that, or names options of the terminal.
      expect(await page.getByText(/No mesh answers|--port/).count()).toBe(0)
      await mesh.restart()
      await banner.waitFor({ state: 'detached' })
      await page.getByRole('heading', { name: 'Costs' }).first().waitFor()
      expect(faults).toEqual([])
      await context.close()
    },
  )

  it('a page whose file an upgrade removed is loaded again, once', async () => {
    const { page, context, openWhole } = await openPage(browser, mesh.url)
    await openWhole('/fleet', 'scribe')
    let loads = 0
    page.on('framenavigated', () => (loads += 1))
    let isMissing = true
    await context.route('**/assets/costs-page*', (route) =>
      isMissing ? route.fulfill({ status: 404, body: '' }) : route.continue(),
    )
    page.on('domcontentloaded', () => (isMissing = false))
    await page.getByRole('link', { name: 'Costs' }).click()
    await page.getByRole('heading', { name: 'Costs' }).first().waitFor()
    expect(loads).toBeGreaterThan(0)
    await context.close()
  })

  it('an unknown address is a page for a person, and a problem for a program', async () => {
    const { page, context, picture, breaches } = await openPage(browser, mesh.url, {
      width: 390,
      theme: 'dark',
    })
    const reply = await page.goto(`${mesh.url}/flet/12`)
    expect(reply?.status()).toBe(404)
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
    await picture('no-such-page')
    expect(await breaches()).toEqual([])
    await page.getByRole('link', { name: 'Fleet' }).click()
    await page.getByRole('heading', { name: 'scribe' }).waitFor()
    const told = await fetch(`${mesh.url}/flet/12`)
    expect([told.status, ((await told.json()) as { code: string }).code]).toEqual([404, 'not-found'])
    await context.close()
  })
})

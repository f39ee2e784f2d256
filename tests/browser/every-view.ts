import process from 'node:process'
import { expect } from 'vitest'
import type { WatchedPage } from './open-browser.ts'

/** Colours differ by theme, everything else by width: the whole of the rules is asked once for each width. */
const views = [
  { theme: 'light', width: 1280, of: 'all' },
  { theme: 'dark', width: 1280, of: 'colours' },
  { theme: 'dark', width: 390, of: 'all' },
  { theme: 'light', width: 390, of: 'colours' },
] as const

/** Each theme and each width once; the soak tests see each theme at each width. */
const corners = views.filter(({ of }) => of === 'all')

/** What is wrong with a page as it stands, in both themes and at both widths; takes a picture of each. */
export async function wrongWith(watched: WatchedPage, name: string): Promise<readonly string[]> {
  const { page, faults } = watched
  const breaches: string[] = []
  for (const { theme, width, of } of process.env['FLOTILLA_SOAK'] === '1' ? views : corners) {
    await page.emulateMedia({ colorScheme: theme })
    if (page.viewportSize()?.width !== width) {
      await page.setViewportSize({ width, height: width < 600 ? 844 : 800 })
    }
    const view = `${theme}-${width < 600 ? 'phone' : 'wide'}`
    await expect
      .poll(() => page.evaluate('document.documentElement.scrollWidth'), { message: view })
      .toBeLessThanOrEqual(width)
    await watched.picture(`${name}-${view}`)
    breaches.push(...(await watched.breaches(of)).map((breach) => `${view}: ${breach}`))
  }
  return [...breaches, ...faults]
}

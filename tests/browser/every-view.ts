import process from 'node:process'
import { expect } from 'vitest'
import type { WatchedPage } from './open-browser.ts'

/** Colors differ by theme, everything else by width, so all rules are checked once for each width. */
const views = [
  { theme: 'light', width: 1280, of: 'all' },
  { theme: 'dark', width: 1280, of: 'colors' },
  { theme: 'dark', width: 390, of: 'all' },
  { theme: 'light', width: 390, of: 'colors' },
] as const

/** Each theme and each width once; the soak tests check each theme at each width. */
const corners = views.filter(({ of }) => of === 'all')
const isSoak = process.env['FLOTILLA_SOAK'] === '1'
let looked = 0

/**
 * Returns what is wrong with the page that is open, in both themes and at both widths, and takes a picture of each
 * view. The accessibility rules are checked in one of two views, alternating between calls; the soak tests check
 * them in each.
 */
export async function wrongWith(watched: WatchedPage, name: string): Promise<readonly string[]> {
  const { page, faults } = watched
  const breaches: string[] = []
  const asked = corners[looked++ % corners.length]
  for (const view of isSoak ? views : corners) {
    const { theme, width, of } = view
    await page.emulateMedia({ colorScheme: theme })
    // Chromium computes old colors for cards that a new width draws in the same frame as a new theme.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    if (page.viewportSize()?.width !== width) {
      await page.setViewportSize({ width, height: width < 600 ? 844 : 800 })
    }
    const seen = `${theme}-${width < 600 ? 'phone' : 'wide'}`
    await expect
      .poll(() => page.evaluate('document.documentElement.scrollWidth'), { message: seen })
      .toBeLessThanOrEqual(width)
    await watched.picture(`${name}-${seen}`)
    if (!isSoak && view !== asked) continue
    breaches.push(...(await watched.breaches(of)).map((breach) => `${seen}: ${breach}`))
  }
  return [...breaches, ...faults]
}

import type { ActionScene } from './action.ts'

/** How long to wait for a click to start a navigation, and for that navigation to load. */
const beginMaxMs = 250
const loadMaxMs = 5000

/**
 * Waits for the immediate effect of an action: a navigation, at most until its document is loaded. For slower effects
 * there is `wait_for`.
 */
export async function settle({ live, page, left }: ActionScene): Promise<void> {
  const begin = Math.min(beginMaxMs, left())
  await page.waitForEvent('framenavigated', { timeout: begin }).catch(() => undefined)
  const front = await live.tabs.active()
  if (front.isClosed()) return
  const load = Math.min(loadMaxMs, left())
  await front.waitForLoadState('domcontentloaded', { timeout: load }).catch(() => undefined)
}

import type { ActionScene } from './action.ts'

/** How long a click may take to begin something, and how long what it began is waited for. */
const beginMaxMs = 250
const loadMaxMs = 5000

/**
 * Waits until what an action set off is there to be looked at: a page that comes, at most to its document. What takes
 * longer is what `wait_for` is for.
 */
export async function settle({ live, page, left }: ActionScene): Promise<void> {
  const begin = Math.min(beginMaxMs, left())
  await page.waitForEvent('framenavigated', { timeout: begin }).catch(() => undefined)
  const front = await live.tabs.active()
  if (front.isClosed()) return
  const load = Math.min(loadMaxMs, left())
  await front.waitForLoadState('domcontentloaded', { timeout: load }).catch(() => undefined)
}

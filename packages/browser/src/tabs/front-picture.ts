import { browserLimits } from '@flotilla/protocol/browser-service-api'
import { maskStyle } from '../actions/mask.ts'
import type { LivingBrowser } from './living-browser.ts'

/** Tried in turn until the picture is small enough. */
const qualities = [40, 15]
const takeMaxMs = 3000

/**
 * What people who look on are shown: the tab in front, with secrets covered as in a screenshot. It launches nothing, waits
 * for no action and counts as none, and leaves what the next action is to be told. Null where there is nothing to be seen,
 * or not in time. Whoever asks meanwhile is given the same.
 */
export function createFrontPicture(browser: Pick<LivingBrowser, 'live'>): () => Promise<Buffer | null> {
  let taking: Promise<Buffer | null> | null = null

  async function take(): Promise<Buffer | null> {
    const tabs = browser.live?.tabs
    const page = tabs?.pages[tabs.index()]
    if (page === undefined) return null
    for (const quality of qualities) {
      const image = await page.screenshot({
        type: 'jpeg',
        quality,
        style: maskStyle,
        // As the page is, which goes on meanwhile.
        animations: 'allow',
        caret: 'initial',
        timeout: takeMaxMs,
      })
      if (image.length <= browserLimits.pictureMaxBytes) return image
    }
    return null
  }

  return () => {
    taking ??= take()
      .catch(() => null)
      .finally(() => {
        taking = null
      })
    return taking
  }
}

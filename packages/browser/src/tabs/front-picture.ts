import { browserLimits } from '@flotilla/protocol/browser-service-api'
import type { Clock } from '@flotilla/protocol/clock'
import { echoStyle, withoutEchoes } from '../actions/hide-echoes.ts'
import { maskStyle } from '../actions/mask.ts'
import type { LivingBrowser } from './living-browser.ts'

/** JPEG qualities, tried in order until the picture is small enough. */
const qualities = [40, 15]
const takeMaxMs = 3000

/**
 * Takes pictures for people who watch: the front tab, with secrets covered as in a screenshot. A picture launches no
 * browser, waits for no action, is no action itself, and leaves notices for the next action. Resolves to null if
 * nothing is visible or the time limit is over. Concurrent callers share one picture.
 */
export function createFrontPicture(
  browser: Pick<LivingBrowser, 'live'>,
  clock: Clock,
): () => Promise<Buffer | null> {
  let taking: Promise<Buffer | null> | null = null

  async function take(): Promise<Buffer | null> {
    const { live } = browser
    const page = live?.tabs.pages[live.tabs.index()]
    if (live === null || page === undefined) return null
    for (const quality of qualities) {
      const image = await withoutEchoes(page, live.secrets, () =>
        page.screenshot({
          type: 'jpeg',
          quality,
          style: maskStyle + echoStyle,
          // Keeps animations running, because taking the picture must not change the page.
          animations: 'allow',
          caret: 'initial',
          timeout: takeMaxMs,
        }),
      )
      if (image.length <= browserLimits.pictureMaxBytes) return image
    }
    return null
  }

  /** Limits the time, because the search for secrets never ends in a page that does not respond. */
  async function inTime(picture: Promise<Buffer | null>): Promise<Buffer | null> {
    const patience = new AbortController()
    const late = clock.sleep(qualities.length * takeMaxMs, patience.signal).then(
      () => null,
      () => null,
    )
    return Promise.race([picture, late]).finally(() => patience.abort())
  }

  return () => {
    taking ??= inTime(take().catch(() => null)).finally(() => {
      taking = null
    })
    return taking
  }
}

import type { CaptchaAnswer } from '@flotilla/protocol/browser-service-api'
import type { Clock } from '@flotilla/protocol/clock'
import type { Page } from 'playwright-core'
import type { LivingBrowser } from '../tabs/living-browser.ts'
import type { PageElement } from '../tabs/page-element.ts'
import type { ActionQueue } from './action-queue.ts'
import { answerFields, findCaptcha } from './find-captcha.ts'

/** The time limit for a page that is busy with its own scripts. */
const putInWithinMs = 5000

/**
 * Inserts the answer of a CAPTCHA into the current page and calls the page's callback. Resolves to false if the page
 * shows no CAPTCHA or another one, or if a person controls the browser. Never rejects.
 */
export function createAnswerCaptcha(deps: {
  readonly browser: Pick<LivingBrowser, 'live'>
  readonly queue: ActionQueue
  readonly isPersonInControl: () => boolean
  readonly clock: Clock
}): (answer: CaptchaAnswer) => Promise<boolean> {
  async function putIn(
    page: Page,
    { kind, host, site_key: siteKey, token }: CaptchaAnswer,
  ): Promise<boolean> {
    const current = await findCaptcha(page)
    if (current === null || kind === 'generic') return false
    if (current.kind !== kind || current.host !== host || current.site_key !== siteKey) return false
    const filled = await page.locator(answerFields[kind]).evaluateAll(fillIn, token)
    const called = await page
      .locator(`[data-sitekey="${siteKey}"][data-callback]`)
      .evaluateAll(callBack, token)
    return filled + called > 0
  }

  return (answer) =>
    deps.queue
      .run(async () => {
        const { live } = deps.browser
        if (live === null || deps.isPersonInControl()) return false
        const done = putIn(await live.tabs.active(), answer).catch(() => false)
        const waited = new AbortController()
        const late = deps.clock.sleep(putInWithinMs, waited.signal).then(
          () => false,
          () => done,
        )
        return Promise.race([done, late]).finally(() => waited.abort())
      })
      .catch(() => false)
}

/** Runs in the page. Returns the number of fields that it filled. */
function fillIn(fields: PageElement[], token: string): number {
  for (const field of fields) {
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value')?.set?.call(field, token)
    for (const event of ['input', 'change']) field.dispatchEvent(new Event(event, { bubbles: true }))
  }
  return fields.length
}

/** Runs in the page. Returns the number of callbacks that it called. */
function callBack(widgets: PageElement[], token: string): number {
  const called = widgets.map((widget) => {
    const named: unknown = Reflect.get(globalThis, widget.getAttribute('data-callback') ?? '')
    if (typeof named !== 'function') return false
    Reflect.apply(named, undefined, [token])
    return true
  })
  return called.filter(Boolean).length
}

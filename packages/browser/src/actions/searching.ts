import { browserLimits } from '@flotilla/protocol/browser-service-api'
import { ActionProblem } from './action-problem.ts'
import type { ActionScene, Acts } from './action.ts'
import type { PageElement } from '../tabs/page-element.ts'
import { maskedValues } from './mask.ts'

const aroundChars = 100
/** The maximum text that is read of each frame, in characters. */
const readMaxChars = 200_000
/** The maximum number of frames that are read, because a page may have thousands. */
const framesMax = 50
const readMaxMs = 5000

/** Actions that wait for something and that search the page and its requests. */
export const searching: Acts<'wait_for' | 'find_text' | 'inspect_requests'> = {
  async wait_for(scene, { text, ref, state, timeout_ms: timeoutMs }) {
    const { page, left } = scene
    if ([text, ref, state].filter((one) => one !== undefined).length !== 1)
      throw new ActionProblem('bad-params', 'wait_for needs exactly one of text, ref and state.')
    const timeout = Math.min(timeoutMs, left())
    const waited =
      text !== undefined && scene.live.secrets.any
        ? seenInWords(scene, text, timeout)
        : text !== undefined
          ? Promise.any(
              page
                .frames()
                .map((frame) => frame.getByText(text).first().waitFor({ state: 'visible', timeout })),
            )
          : ref !== undefined
            ? (await scene.find(ref)).waitForElementState('visible', { timeout })
            : page.waitForLoadState(state ?? 'load', { timeout })
    const found = await waited.then(
      () => true,
      () => false,
    )
    return { found }
  },

  async find_text(scene, { query }) {
    const pageText = await wordsOfPage(scene)
    const [lowerQuery, all] = [query.toLowerCase(), pageText.toLowerCase()]
    const matches: string[] = []
    let total = 0
    for (let at = all.indexOf(lowerQuery); at >= 0; at = all.indexOf(lowerQuery, at + lowerQuery.length)) {
      total += 1
      if (matches.length >= browserLimits.matchesMax) continue
      const around = pageText.slice(Math.max(0, at - aroundChars), at + lowerQuery.length + aroundChars)
      matches.push(around.replace(/\s+/g, ' ').trim().slice(0, browserLimits.matchMaxChars))
    }
    return { matches, total }
  },

  async inspect_requests({ live }, { limit }) {
    const { scrub } = live.secrets
    const requests = live.requests
      .last(limit)
      .map((entry) => ({ ...entry, url: scrub(entry.url).slice(0, 1000) }))
    return { requests }
  },
}

const lookAgainMs = 200

/** Searches the text after secrets were removed, so that an agent cannot guess a secret letter by letter. */
async function seenInWords(scene: ActionScene, text: string, withinMs: number): Promise<void> {
  const plainText = plainWords(text)
  const end = scene.clock.now() + withinMs
  for (;;) {
    if (plainWords(await wordsOfPage(scene)).includes(plainText)) return
    if (scene.clock.now() >= end) throw new Error('the text did not appear in time')
    await scene.clock.sleep(Math.min(lookAgainMs, Math.max(1, end - scene.clock.now())))
  }
}

/** Normalizes text as locators do: lower case, and one space for any white space. */
function plainWords(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim()
}

/** The visible text of all frames, without the values of hidden fields. */
async function wordsOfPage({ page, live }: ActionScene): Promise<string> {
  const parts = await Promise.all(
    page
      .frames()
      .slice(0, framesMax)
      .map(async (frame) => {
        const frameText = await frame
          .locator('body')
          .evaluate((body: PageElement, max) => (body.innerText ?? '').slice(0, max), readMaxChars, {
            timeout: readMaxMs,
          })
          .then((found: unknown) => (typeof found === 'string' ? found : ''))
          .catch(() => '')
        const hidden = await maskedValues(frame)
        const whole = hidden.reduce((text, value) => text.replaceAll(value, '[hidden]'), frameText)
        return frameText.length < readMaxChars ? whole : live.secrets.scrubCut(whole)
      }),
  )
  return live.secrets.scrub(parts.join('\n'))
}

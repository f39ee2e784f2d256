import type { BrowserContext, Frame, Page, Request } from 'playwright-core'
import { ActionProblem } from '../actions/action-problem.ts'
import type { Secrets } from './secrets.ts'
import { guardScript, guardWithoutScripts } from './guard-script.ts'
import { findShownSecrets } from './shown-secrets.ts'

/**
 * Prevents pages that may show a typed secret from copying it to other pages.
 *
 * 1. An origin is guarded until the profile is reset, from the time a secret is typed there, a page sends one
 *    there, or one of its pages shows one before or after an action in any tab (checked as for secrets in
 *    output).
 * 2. A page of a guarded origin cannot copy, cut or drag, neither by keys and menus nor by its own scripts. This
 *    holds for its sandboxed documents, with or without scripts, and for all frames inside it as well.
 * 3. The clipboard and the primary selection are emptied before and after each action while a guarded page is in
 *    front, and once more after it was left, so that a selection is never pasted elsewhere.
 * 4. Once a secret was typed, both are also emptied when the front page has another origin than before, and around
 *    each action on a page that could not be searched whole. Other pages may copy within their origin.
 */
export interface CopyGuard {
  readonly origins: readonly string[]
  guard(origin: string): Promise<void>
  /** Must be awaited before and after each action. Rejects with `internal` if the selections cannot be emptied. */
  settle(front: Page): Promise<void>
  /** Records that a person used the browser, so that the next `settle` empties the selections. */
  doubt(): void
}

/** The maximum number of origins, more than one browser has logins. Above it no secret can be typed elsewhere. */
export const guardedOriginsMax = 200
/** How much of a request's body is searched for secrets, in characters. */
const bodyMaxChars = 1_000_000

export async function createCopyGuard(deps: {
  readonly context: BrowserContext
  readonly secrets: Secrets
  readonly clearSelections: () => Promise<void>
  /** The origins that were guarded before the browser was closed. */
  readonly earlier: readonly string[]
  /** How long the text of a frame is waited for, in milliseconds; longer in tests of a busy machine. */
  readonly searchMaxMs?: number
}): Promise<CopyGuard> {
  const { context, secrets } = deps
  const origins = new Set<string>()
  let coming: Promise<unknown> = Promise.resolve()
  /** True if text of a guarded page may have been selected or copied since the selections were emptied. */
  let mayHold = false
  /** The origin of the page that was last in front. */
  let frontOrigin: string | null = null

  async function guard(origin: string): Promise<void> {
    if (origins.has(origin)) return
    if (origins.size >= guardedOriginsMax)
      throw new ActionProblem(
        'not-possible',
        'Secrets were typed at too many sites. Reset the browser first.',
      )
    origins.add(origin)
    mayHold = true
    await context.addInitScript(guardScript([origin]))
    await Promise.all(context.pages().map(installIn))
  }

  /** Installs the guard in documents that were loaded before their origin was guarded, or that run no scripts. */
  async function installIn(page: Page): Promise<void> {
    const works = await Promise.all(
      page.frames().map(async (frame): Promise<unknown> => {
        const origin = await guardedOriginOf(frame)
        return origin === null || frame.evaluate(guardScript([origin])).catch(() => true)
      }),
    )
    if (works.includes(false)) await guardWithoutScripts(page, [...origins])
  }

  /** The guarded origin of a frame or of a frame around it; null without one. */
  async function guardedOriginOf(frame: Frame): Promise<string | null> {
    for (const at of [frame, ...framesAround(frame)]) {
      const origin = await originOfFrame(at)
      if (origin !== null && origins.has(origin)) return origin
    }
    return null
  }

  async function hasGuarded(page: Page): Promise<boolean> {
    if (origins.size === 0) return false
    const found = await Promise.all(page.frames().map(originOfFrame))
    return found.some((origin) => origin !== null && origins.has(origin))
  }

  /** Guards the origins of frames that show a secret. True if the page may show more than was searched. */
  async function guardShown(front: Page): Promise<boolean> {
    if (!secrets.any) return false
    const { frames, isWhole } = await findShownSecrets(front, secrets, deps.searchMaxMs)
    let isUnknown = !isWhole
    for (const frame of frames) {
      const around = [frame, ...framesAround(frame)]
      const found = await Promise.all(around.map(originOfFrame))
      const origin = found.find((one) => one !== null)
      if (origin === undefined || origin === null) isUnknown = true
      else await guard(origin)
    }
    return isUnknown
  }

  /** True if the front page has another origin than the page that was in front before, once a secret was typed. */
  async function hasMoved(front: Page): Promise<boolean> {
    const before = frontOrigin
    frontOrigin = await originOfFrame(front.mainFrame())
    return secrets.any && frontOrigin !== before
  }

  /** Guards an origin to which a page sends a secret, because the answer may show the secret. */
  function look(request: Request): void {
    const origin = originOf(request.url())
    if (origin !== null && origins.has(origin)) mayHold = true
    if (!secrets.any || origin === null || origins.has(origin)) return
    const sent = `${request.url()}\n${(request.postData() ?? '').slice(0, bodyMaxChars)}`
    if (secrets.find(sent).length === 0) return
    coming = Promise.allSettled([coming, guard(origin)])
  }

  context.on('request', look)
  for (const origin of deps.earlier) await guard(origin)

  return {
    get origins() {
      return [...origins]
    },
    guard,
    async settle(front) {
      await coming
      const isUnknown = await guardShown(front)
      const isMoved = await hasMoved(front)
      const isGuardedFront = await hasGuarded(front)
      if (isGuardedFront) await installIn(front)
      if (!isGuardedFront && !isUnknown && !isMoved && !mayHold) return
      mayHold = isGuardedFront
      await deps.clearSelections().catch((error: unknown) => {
        throw new ActionProblem('internal', `The clipboard could not be emptied: ${String(error)}`, 1000)
      })
    },
    doubt() {
      if (origins.size > 0 || secrets.any) mayHold = true
    },
  }
}

function framesAround(frame: Frame): Frame[] {
  const parent = frame.parentFrame()
  return parent === null ? [] : [parent, ...framesAround(parent)]
}

/** The origin of a frame. A generated document inherits an origin that only the document itself knows. */
async function originOfFrame(frame: Frame): Promise<string | null> {
  const origin = originOf(frame.url())
  if (origin !== null) return origin
  const own: unknown = await frame.evaluate('self.origin').catch(() => '')
  return typeof own === 'string' ? originOf(own) : null
}

/** The http or https origin of an address; null for others, such as `about:blank` and generated documents. */
export function originOf(address: string): string | null {
  if (!URL.canParse(address)) return null
  const { origin, protocol } = new URL(address)
  return protocol === 'http:' || protocol === 'https:' ? origin : null
}

import type { BrowserContext, Frame, Page, Request } from 'playwright-core'
import { ActionProblem } from '../actions/action-problem.ts'
import type { Secrets } from './secrets.ts'

/**
 * Prevents that a typed secret is copied from pages that may show it to other pages.
 *
 * 1. An origin is guarded from the time a secret is typed there, or a page sends one there, until the profile is reset.
 * 2. A page of a guarded origin cannot copy, cut or drag, neither by keys and menus nor by its own scripts.
 * 3. The clipboard and the primary selection are emptied around each action that begins or ends with such a page in
 *    front, and again when it is left, so that a selection is never pasted elsewhere.
 */
export interface CopyGuard {
  readonly origins: readonly string[]
  guard(origin: string): Promise<void>
  /** To be awaited before and after each action. Rejects with `internal` where the selections cannot be emptied. */
  settle(front: Page): Promise<void>
  /** A person used the browser: their selection is unknown. */
  doubt(): void
}

/** More than one browser has logins. Beyond them none is guarded, so none may be typed. */
export const guardedOriginsMax = 200
/** Of the body of a request, characters that are searched. */
const bodyMaxChars = 1_000_000

export async function createCopyGuard(deps: {
  readonly context: BrowserContext
  readonly secrets: Secrets
  readonly clearSelections: () => Promise<void>
  /** Guarded before the browser was closed. */
  readonly earlier: readonly string[]
}): Promise<CopyGuard> {
  const { context, secrets } = deps
  const origins = new Set<string>()
  let coming: Promise<unknown> = Promise.resolve()
  /** Whether something may have been selected or copied on a guarded page since the selections were emptied. */
  let mayHold = false

  async function guard(origin: string): Promise<void> {
    if (origins.has(origin)) return
    if (origins.size >= guardedOriginsMax)
      throw new ActionProblem(
        'not-possible',
        'Secrets were typed at too many sites. Reset the browser first.',
      )
    origins.add(origin)
    mayHold = true
    await context.addInitScript(guardScript(origin))
    await Promise.all(context.pages().map(installIn))
  }

  /** In documents that were there before their origin was guarded. */
  async function installIn(page: Page): Promise<void> {
    await Promise.all(
      page
        .frames()
        .map(async (frame) => {
          const origin = await originOfFrame(frame)
          if (origin !== null && origins.has(origin)) await frame.evaluate(guardScript(origin))
        })
        .map((installed) => installed.catch(() => undefined)),
    )
  }

  async function hasGuarded(page: Page): Promise<boolean> {
    if (origins.size === 0) return false
    const found = await Promise.all(page.frames().map(originOfFrame))
    return found.some((origin) => origin !== null && origins.has(origin))
  }

  /** A page that sends a secret on is answered with pages that may show it. */
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
      const isGuardedFront = await hasGuarded(front)
      if (isGuardedFront) await installIn(front)
      if (!isGuardedFront && !mayHold) return
      mayHold = isGuardedFront
      await deps.clearSelections().catch((error: unknown) => {
        throw new ActionProblem('internal', `The clipboard could not be emptied: ${String(error)}`, 1000)
      })
    },
    doubt() {
      if (origins.size > 0) mayHold = true
    },
  }
}

/** A document that a page wrote itself has the origin of that page, which only the document knows. */
async function originOfFrame(frame: Frame): Promise<string | null> {
  const origin = originOf(frame.url())
  if (origin !== null) return origin
  const own: unknown = await frame.evaluate('self.origin').catch(() => '')
  return typeof own === 'string' ? originOf(own) : null
}

/** Null for pages without an origin, such as `about:blank` and generated documents. */
export function originOf(address: string): string | null {
  if (!URL.canParse(address)) return null
  const { origin, protocol } = new URL(address)
  return protocol === 'http:' || protocol === 'https:' ? origin : null
}

/**
 * Runs in a page, before its own scripts where it can, so that its listener is asked first. The clipboard of a page's own
 * script is taken as well: it needs no event.
 */
function guardScript(origin: string): string {
  return `(() => {
    const mark = Symbol.for('flotilla.copy-guard')
    if (self.origin !== ${JSON.stringify(origin)} || self[mark]) return
    Object.defineProperty(self, mark, { value: true })
    const stop = (event) => {
      event.preventDefault()
      event.stopImmediatePropagation()
      event.clipboardData?.clearData()
    }
    for (const kind of ['copy', 'cut', 'dragstart']) addEventListener(kind, stop, true)
    const refuse = () => Promise.reject(new DOMException('Nothing is copied from this page.', 'NotAllowedError'))
    if (self.Clipboard)
      for (const name of ['write', 'writeText'])
        Object.defineProperty(Clipboard.prototype, name, { value: refuse, configurable: false, writable: false })
  })()`
}

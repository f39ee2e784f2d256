import { stripVTControlCharacters } from 'node:util'
import type { BrowserProblem, BrowserProblemCode } from '@flotilla/protocol/browser-service-api'

/** The reason why an action failed, as text for the model. */
export class ActionProblem extends Error {
  readonly code: BrowserProblemCode
  readonly retryAfterMs: number | undefined

  constructor(code: BrowserProblemCode, message: string, retryAfterMs?: number) {
    super(message)
    this.name = 'ActionProblem'
    this.code = code
    this.retryAfterMs = retryAfterMs
  }
}

const messageMaxChars = 1000

export function problemOf(error: ActionProblem, scrub: (text: string) => string): BrowserProblem {
  const { code, message, retryAfterMs } = error
  const retry = retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }
  return { code, message: scrub(message).slice(0, messageMaxChars), ...retry }
}

/** Translates an error of Playwright: the first line of its message, which names the action and the reason. Pure. */
export function translated(error: unknown): ActionProblem {
  if (error instanceof ActionProblem) return error
  const lines = stripVTControlCharacters(String(error instanceof Error ? error.message : error)).split('\n')
  const line = (lines[0] ?? '').replace(/^\w+\.\w+: /, '')
  if (/has been closed|Target crashed|Target closed|Connection closed/i.test(line))
    return new ActionProblem('browser-crashed', `The tab or the browser closed during the action: ${line}`)
  if (/net::ERR_|NS_ERROR|ERR_ABORTED|interrupted by another navigation/i.test(line))
    return new ActionProblem('page-failed', `The page did not load: ${line}`)
  const reason =
    /(?:intercepts pointer events|is not visible|is not enabled|is not stable|is not editable)/.exec(
      lines.join('\n'),
    )?.[0]
  const why = reason === undefined ? '' : ` (the element ${reason})`
  return new ActionProblem('not-possible', `The action failed: ${line}${why}`)
}

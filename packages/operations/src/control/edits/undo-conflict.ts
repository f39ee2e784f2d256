import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'

/** The maximum length of a value in a problem, in characters of JSON. */
const shownMaxChars = 2000

/** Returns the problem for an undo that would discard a later change, because the value has changed since. */
export function undoConflict(now: JsonValue, made: JsonValue): Problem {
  return new Problem('undo-overtaken', {
    detail: `the current value is ${shown(now).slice(0, 200)}, but this change had set it to ${shown(made).slice(0, 200)}`,
    extra: { now: shown(now), made: shown(made) },
  })
}

function shown(value: JsonValue): string {
  return JSON.stringify(value).slice(0, shownMaxChars)
}

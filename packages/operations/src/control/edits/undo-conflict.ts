import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'

/** Values in a problem, characters of their JSON. */
const shownMaxChars = 2000

/** The current value is not the one that the change made: undoing it would discard a later change. */
export function undoConflict(now: JsonValue, made: JsonValue): Problem {
  return new Problem('undo-overtaken', {
    detail: `the current value is ${shown(now).slice(0, 200)}, but this change had set it to ${shown(made).slice(0, 200)}`,
    extra: { now: shown(now), made: shown(made) },
  })
}

function shown(value: JsonValue): string {
  return JSON.stringify(value).slice(0, shownMaxChars)
}

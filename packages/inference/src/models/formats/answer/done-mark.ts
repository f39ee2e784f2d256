import { isRecord } from '../empty-answer.ts'

/** The data of an event that marks the end of a stream, as chat completions have it, or as some gateways print it. */
export const doneMark = /^"?\[(?:done|end|eos|stop|finish(?:ed)?|complete[d]?)\]"?$|^"?done"?$/i

/** The names of events that mark the end of a stream, whatever their data. */
export const doneEvent = /^(?:done|end|complete[d]?|finish(?:ed)?|stream[._-]?(?:done|end)|close)$/i

/** Members that say with `true` that a stream has ended. */
const endFlag = /^(?:done|finished|completed?|(?:is|stream)_?(?:done|end|ended|finished))$/i
/** Members that may name the end of a stream. */
const endNames = ['type', 'event', 'status', 'object', 'state'] as const
/** Members that an object may have beside that. */
const besideEnd =
  /^(?:type|event|status|object|state|.*id|usage|model|created(?:_at)?|time.*|code|success|index)$/i

/** Whether an object says that the stream has ended, and nothing else. Pure. */
export function isDoneObject(value: unknown): boolean {
  if (!isRecord(value)) return false
  const names = Object.keys(value)
  if (!names.every((name) => endFlag.test(name) || besideEnd.test(name))) return false
  return (
    names.some((name) => endFlag.test(name) && value[name] === true) ||
    endNames.some((name) => typeof value[name] === 'string' && doneEvent.test(value[name]))
  )
}

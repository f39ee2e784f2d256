import { Problem } from '@flotilla/protocol/problem'
import type { Secret } from '@flotilla/egress/credentials'
import { createAnswerFrames } from '../answer/answer-frames.ts'
import { doneMark } from '../answer/done-mark.ts'
import type { Frame } from '../answer/event-lines.ts'
import { errorInAnswer, errorWordsIn } from '../answer/error-in-answer.ts'
import { unreadable } from '../answer/unreadable.ts'
import { wireValues } from '../answer/wire-values.ts'
import { createClaudeMender } from './claude-mender.ts'
import { errorIn, membersOf, messageOfEvents } from './claude-message.ts'
import type { Members } from './claude-message.ts'

export interface ClaudeOptions {
  /** Whether the reader asked for a stream; the form of the answer is detected from its bytes. */
  readonly stream: boolean
  readonly keepsUnknown: boolean
  /** A prefix for signatures that binds each to its provider (`reasoning-details.ts`); empty for no prefix. */
  readonly seal?: string
  readonly secrets?: readonly Secret[]
}

/** The bound on events of which nothing is kept, characters; a model writes no such amount. */
const passedOverMaxChars = 16 * 1024 * 1024

/** Data of events that only keep a connection open. */
const keepAlive = /^(?:ping|pong|heartbeat|keep-?alive|null|\{\s*\}|\[\s*\])?$/i

/**
 * Reads an answer of the Messages API, whole or streamed, and writes it in the form that was asked for: events, or
 * one message at the end. Both forms pass the same reader and mender, so a streamed answer and a whole one mean the
 * same. An event without a fault is written as it came. Throws the Problem `provider-unreadable`.
 */
export function createClaudeWriter({ stream, keepsUnknown, seal = '', secrets = [] }: ClaudeOptions) {
  const sealed = createSealing(seal)
  const frames = createAnswerFrames()
  const mender = createClaudeMender({ keepsUnknown })
  const events: Members[] = []
  let hasAny = false
  /** The first content that is no part of a message. */
  let strange = ''
  let passedOverChars = 0

  /** Returns the mended events of one value. `data` is the value's original text, which an unchanged event keeps. */
  function eventsOf(value: Members, written: Members, { event, data }: Frame): readonly Written[] {
    const type = typeof value['type'] === 'string' ? value['type'] : event
    if (type === 'error') return [{ event: { ...written, type, error: errorOf(value) } }]
    const failure = typeof value['type'] === 'string' ? null : errorInAnswer(value, { secrets })
    if (failure !== null)
      return [{ event: { type: 'error', error: { type: 'api_error', message: failure.detail } } }]
    const isMessage = type === 'whole' || type === 'message'
    if (isMessage && value['content'] === undefined && value['stop_reason'] === undefined) {
      strange ||= Object.keys(value).slice(0, 8).join(', ').slice(0, 100)
      return []
    }
    const given =
      isMessage || written['type'] !== type ? { ...written, type: isMessage ? 'message' : type } : written
    return mender.take(given).map((one) => {
      const whole = sealed(one)
      return { event: whole, ...(whole === written ? { data } : {}) }
    })
  }

  function write(mended: readonly Written[]): string {
    hasAny ||= mended.length > 0
    if (stream) return mended.map(printedEvent).join('')
    events.push(...mended.map(({ event }) => event))
    return ''
  }

  function takeFrame(frame: Frame): string {
    const text = frame.data.trim()
    if (doneMark.test(text)) return write(mender.done().map((event) => ({ event })))
    if (keepAlive.test(text) || frame.event === 'stray') return ''
    const values = wireValues(text, secrets)
    const from = values.length === 1 ? frame : { event: frame.event, data: '' }
    const mended = values
      .flatMap(({ value, written }) => eventsOf(value, membersOf(written), from))
      // A failure behind a complete message revokes nothing, and another attempt would be paid for once more.
      .filter(({ event }) => event['type'] !== 'error' || !mender.isComplete())
    if (mended.length === 0) passOver(text.length)
    return write(mended)
  }

  function passOver(chars: number): void {
    passedOverChars += chars
    if (passedOverChars > passedOverMaxChars)
      throw new Problem('upstream-failed', { detail: 'the answer has too many events of unknown types' })
  }

  return {
    take: (bytes: Uint8Array): string => frames.take(bytes).map(takeFrame).join(''),
    end(): string {
      const last = frames.end().map(takeFrame).join('')
      const missing = mender.end()
      if (!hasAny)
        throw unreadable(strange === '' ? 'it has no events of a message' : `an object of ${strange}`)
      const strangePart = mender.strange()
      if (strangePart !== null) throw unreadable(strangePart)
      if (stream) return last + missing.map((event) => printedEvent({ event })).join('')
      const error = errorIn(events)
      if (error !== null) return JSON.stringify({ type: 'error', error: error['error'] })
      const all = [...events, ...missing]
      if (!all.some(({ type }) => type === 'message_stop'))
        throw new Problem('upstream-failed', { detail: 'the model ended its answer early' })
      return JSON.stringify(messageOfEvents(all))
    },
  }
}

/** Returns the error in Anthropic's form; compatible servers write a text, or leave out the type or the `error`. */
function errorOf(value: Members): Members {
  const error = membersOf(value['error'])
  if (typeof error['type'] === 'string' && typeof error['message'] === 'string') return error
  const type = typeof error['type'] === 'string' ? error['type'] : 'api_error'
  return { ...error, type, message: errorWordsIn(value['error'] ?? value) }
}

/** Adds the seal before each signature. A signature that comes in pieces is sealed once. */
function createSealing(seal: string): (event: Members) => Members {
  if (seal === '') return (event) => event
  const begun = new Set<unknown>()
  return (event) => {
    const { type, index } = event
    if (type === 'content_block_start') {
      begun.delete(index)
      const block = membersOf(event['content_block'])
      return block['type'] === 'redacted_thinking'
        ? { ...event, content_block: { ...block, data: `${seal}${String(block['data'])}` } }
        : event
    }
    const delta = membersOf(event['delta'])
    const isFirst = type === 'content_block_delta' && delta['type'] === 'signature_delta' && !begun.has(index)
    const { signature } = delta
    if (!isFirst || typeof signature !== 'string' || signature === '') return event
    begun.add(index)
    return { ...event, delta: { ...delta, signature: seal + signature } }
  }
}

/** An event, with its text as received if the event is unchanged. */
interface Written {
  readonly event: Members
  readonly data?: string
}

function printedEvent({ event, data }: Written): string {
  const lines = data ? data.replaceAll('\n', '\ndata: ') : JSON.stringify(event)
  return `event: ${String(event['type'])}\ndata: ${lines}\n\n`
}

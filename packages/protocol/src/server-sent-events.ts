import { createLineSplitter } from './stream-lines.ts'

/** One server-sent event, as far as our APIs use the format. */
export interface ServerSentEvent {
  /** `message` where the sender gave none. */
  readonly event: string
  readonly data: string
}

/** Parses the text of an event stream that arrives in pieces, wherever these were cut. */
export interface ServerSentEventParser {
  /** Returns the events that this piece completes, in order. Throws a RangeError if an event exceeds the limit. */
  push(piece: string): readonly ServerSentEvent[]
}

/**
 * Parses the event stream format (WHATWG HTML 9.2): `data` and `event` fields, comments as keep-alive, a blank line
 * as the end; LF, CR and CRLF end a line. At most `eventMaxChars` of one event are buffered, including its open line.
 * Each character is read once, so that single characters cost no more than blocks. An event without its blank line is
 * ignored. Pure.
 */
export function createServerSentEventParser(eventMaxChars: number): ServerSentEventParser {
  let line: string[] = []
  let lineChars = 0
  let event = ''
  let data: string[] = []
  let heldChars = 0
  let atStart = true

  function take(part: string): void {
    lineChars += part.length
    if (heldChars + lineChars > eventMaxChars) {
      throw new RangeError(`an event of the stream is longer than ${eventMaxChars} characters`)
    }
    if (part !== '') line.push(part)
  }

  function endLine(into: ServerSentEvent[]): void {
    const joined = line.length === 1 ? (line[0] ?? '') : line.join('')
    const text = atStart && joined.startsWith('\uFEFF') ? joined.slice(1) : joined
    atStart = false
    line = []
    lineChars = 0
    if (text === '') {
      if (data.length > 0) into.push({ event: event === '' ? 'message' : event, data: data.join('\n') })
      event = ''
      data = []
      heldChars = 0
      return
    }
    const colon = text.indexOf(':')
    const field = colon < 0 ? text : text.slice(0, colon)
    if (field !== 'data' && field !== 'event') return
    const value = colon < 0 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') data.push(value)
    else event = value
    heldChars += text.length
  }

  const split = createLineSplitter<ServerSentEvent[]>({ take, endLine })
  return {
    push: (piece) => {
      const events: ServerSentEvent[] = []
      split(piece, events)
      return events
    },
  }
}

import { createLineSplitter } from '@flotilla/protocol/stream-lines'
import { doneMark } from './done-mark.ts'

/** One text of an answer: the data of an event, one line, or the whole body. */
export interface Frame {
  /**
   * The name of the event; `message` without one, `stray` for text outside of the format, `whole` for a body of
   * one JSON text.
   */
  readonly event: string
  readonly data: string
}

interface EventLines {
  /** Returns the events that this piece completes. Throws a RangeError if an event exceeds the bound. */
  push(piece: string): readonly Frame[]
  /** Returns the remaining frames at the end of the stream. */
  end(): readonly Frame[]
  /** Whether the stream has had any event or comment; text outside of the format does not count. */
  hasEvents(): boolean
}

const known = /^(?:data|event|id|retry|error)?(?::|$)/
/** A data line with JSON whose field name is indented, in capital letters, or without its colon. */
const looseField = /^\s*data\s*:?\s*(?=[{[])/i
const repeatedField = /^data:\s*(?:data:\s*)+/
const wholeJson = /^\s*(?:\{[^]*\}|\[[^]*\])\s*$/
const jsonBegins = /^\s*[{[]/
/** The bound in characters on stored text outside of the event format; it may contain an error message. */
const strayMaxChars = 16 * 1024

/**
 * Parses server-sent events as providers and proxies really write them. The standard (WHATWG HTML 9.2) silently drops
 * lines that are not fields; this parser is more lenient:
 *
 * - a data line with a whole JSON text ends its event if another such line follows, also without a blank line
 *   between;
 * - `data: data:` is `data:`;
 * - before JSON, the field name `data` may be indented, in capital letters, or without its colon;
 * - a line that is a whole JSON object is an event;
 * - a line `error: …` is an event of that name (llama.cpp);
 * - other text (a page, a stack trace, or JSON over several lines) becomes a `stray` frame at the end of the stream.
 *
 * The parser reads each character once. Create one parser per stream.
 */
export function createEventLines(eventMaxChars: number): EventLines {
  let line: string[] = []
  let chars = 0
  let event = ''
  let data: string[] = []
  /** Whether the first data line is a whole JSON text: determined once, because any number of lines may follow it. */
  let isWholeText = false
  let stray = ''
  let count = 0

  function take(part: string): void {
    chars += part.length
    if (chars > eventMaxChars) throw new RangeError(`an event is longer than ${eventMaxChars} characters`)
    if (part !== '') line.push(part)
  }

  function dispatch(into: Frame[]): void {
    if (data.length > 0) {
      into.push({ event: event === '' ? 'message' : event, data: data.join('\n') })
      count++
    }
    event = ''
    data = []
    chars = 0
  }

  function outside(text: string, into: Frame[]): void {
    chars -= text.length
    if (stray === '' && wholeJson.test(text)) into.push({ event: 'message', data: text })
    else if (stray.length < strayMaxChars) stray += `${text}\n`
  }

  function endLine(into: Frame[]): void {
    const joined = line.length === 1 ? (line[0] ?? '') : line.join('')
    // A proxy that joins streams leaves a byte order mark before each of them.
    const bare = joined.startsWith('\uFEFF') ? joined.slice(1) : joined
    const text = known.test(bare) ? bare : bare.replace(looseField, 'data: ')
    line = []
    if (text === '') return dispatch(into)
    if (!known.test(text)) return outside(text, into)
    if (text.startsWith(':')) count++
    const colon = text.indexOf(':')
    const field = colon < 0 ? text : text.slice(0, colon)
    if (field === 'error') {
      dispatch(into)
      into.push({ event: 'error', data: text.slice(colon + 1).trim() })
      count++
      return
    }
    if (field !== 'data' && field !== 'event') return
    const plain = repeatedField.test(text) ? text.replace(repeatedField, 'data:') : text
    const value = colon < 0 ? '' : plain.slice(plain[colon + 1] === ' ' ? colon + 2 : colon + 1)
    const isNext = field === 'data' ? jsonBegins.test(value) || doneMark.test(value) : true
    if (isNext && data.length === 1 && isWholeText) dispatch(into)
    if (field === 'event') event = value
    else {
      if (data.length === 0) isWholeText = wholeJson.test(value)
      data.push(value)
    }
  }

  const split = createLineSplitter<Frame[]>({ take, endLine })
  return {
    push(piece) {
      const frames: Frame[] = []
      split(piece, frames)
      return frames
    },
    end() {
      const frames: Frame[] = []
      // A last line without a line end counts as well: some servers close the connection right after it.
      endLine(frames)
      dispatch(frames)
      if (stray.trim() !== '')
        frames.push({ event: wholeJson.test(stray) ? 'message' : 'stray', data: stray })
      return frames
    },
    hasEvents: () => count > 0,
  }
}

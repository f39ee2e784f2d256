/** One text of an answer: the data of an event, a line, or all of it. */
export interface Frame {
  /** The name of the event; `message` without one, `stray` for text outside of the format, `whole` for a body of one JSON text. */
  readonly event: string
  readonly data: string
}

interface EventLines {
  /** The events that this piece completes. Throws a RangeError once one event passes the bound. */
  push(piece: string): readonly Frame[]
  /** What is left when nothing more comes. */
  end(): readonly Frame[]
  /** Events and comments so far; text outside of the format does not count. */
  hasEvents(): boolean
}

const known = /^(?:data|event|id|retry)?(?::|$)/
const repeatedField = /^data:\s*(?:data:\s*)+/
const wholeJson = /^\s*(?:\{[^]*\}|\[[^]*\])\s*$/
const jsonBegins = /^\s*[{[]/
/** Text outside of the format that is kept for the error it may tell, characters. */
const strayMaxChars = 16 * 1024

/**
 * Server-sent events as providers and their proxies really write them. More lenient than the format (WHATWG HTML 9.2), which
 * drops without a word what is no field:
 *
 * - a whole JSON text in one data line ends its event where another one follows, also without a blank line between them;
 * - `data: data:` is `data:`;
 * - a line that is a whole JSON object is an event;
 * - other text becomes a `stray` frame at the end: a page, a stack trace, or JSON over several lines.
 *
 * Reads each character once. Made for each stream.
 */
export function createEventLines(eventMaxChars: number): EventLines {
  let line: string[] = []
  let chars = 0
  let afterReturn = false
  let isFirst = true
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
    const text = isFirst && joined.startsWith('\uFEFF') ? joined.slice(1) : joined
    isFirst = false
    line = []
    if (text === '') return dispatch(into)
    if (!known.test(text)) return outside(text, into)
    if (text.startsWith(':')) count++
    const colon = text.indexOf(':')
    const field = colon < 0 ? text : text.slice(0, colon)
    if (field !== 'data' && field !== 'event') return
    const plain = repeatedField.test(text) ? text.replace(repeatedField, 'data:') : text
    const value = colon < 0 ? '' : plain.slice(plain[colon + 1] === ' ' ? colon + 2 : colon + 1)
    const isNext = field === 'data' ? jsonBegins.test(value) || /^\[?done\]?$/i.test(value) : true
    if (isNext && data.length === 1 && isWholeText) dispatch(into)
    if (field === 'event') event = value
    else {
      if (data.length === 0) isWholeText = wholeJson.test(value)
      data.push(value)
    }
  }

  return {
    push(piece) {
      const frames: Frame[] = []
      // The second half of a line end that was cut in between.
      let from = afterReturn && piece.startsWith('\n') ? 1 : 0
      if (piece !== '') afterReturn = false
      const ends = /\r\n|\n|\r/g
      ends.lastIndex = from
      for (let end = ends.exec(piece); end; end = ends.exec(piece)) {
        take(piece.slice(from, end.index))
        from = end.index + end[0].length
        endLine(frames)
        afterReturn = end[0] === '\r' && from === piece.length
      }
      take(piece.slice(from))
      return frames
    },
    end() {
      const frames: Frame[] = []
      // A server that hangs up right behind its last line has said it all the same.
      endLine(frames)
      dispatch(frames)
      if (stray.trim() !== '')
        frames.push({ event: wholeJson.test(stray) ? 'message' : 'stray', data: stray })
      return frames
    },
    hasEvents: () => count > 0,
  }
}

import { createUnpacker } from '../../providers/unpack-body.ts'
import { createEventLines } from './event-lines.ts'
import type { Frame } from './event-lines.ts'
import { jsonTextsIn } from './json-texts.ts'
import { unreadable } from './unreadable.ts'

/** One event of a model is a few hundred bytes; one with a picture in it may be megabytes. */
const eventMaxChars = 8 * 1024 * 1024
/** An answer that comes in one piece, or in lines, characters. */
const wholeMaxChars = 16 * 1024 * 1024
const excerptMaxChars = 120
const startMaxChars = 2000

/**
 * Cuts the bytes of an answer into its texts, whatever their type is said to be: server-sent events, one JSON text, or a
 * JSON text a line. The first sign that is no blank tells which. Throws the Problem `provider-unreadable` for anything
 * else. How the bytes are cut changes nothing.
 */
export function createAnswerFrames() {
  // Takes a byte order mark away, and holds a character until it is whole.
  const decoder = new TextDecoder()
  const unpacker = createUnpacker(undefined)
  let kind: 'unknown' | 'events' | 'json' | 'page' = 'unknown'
  /** The first characters, to be shown where they make no sense. */
  let start = ''
  let held = ''
  let events: ReturnType<typeof createEventLines> | null = null
  const whole: string[] = []
  let wholeChars = 0

  /** What is held back as long as it is not known what comes. */
  function begin(text: string): string {
    held += text
    const first = held.trimStart()[0]
    if (first === undefined) {
      held = ''
      return ''
    }
    if (first === '<') kind = 'page'
    else kind = first === '{' || first === '[' || first === '"' ? 'json' : 'events'
    if (kind === 'events') events = createEventLines(eventMaxChars)
    return held
  }

  function framesOf(text: string): readonly Frame[] {
    if (start.length < startMaxChars) start += text.slice(0, startMaxChars - start.length)
    const piece = kind === 'unknown' ? begin(text) : text
    if (kind === 'page' && start.length === startMaxChars)
      throw unreadable(`it is a page and no answer: ${excerptOf(start)}`)
    if (piece === '' || kind === 'page') return []
    if (kind === 'json') {
      wholeChars += piece.length
      if (wholeChars > wholeMaxChars) throw unreadable('it is too large')
      whole.push(piece)
      return []
    }
    return bounded(() => events?.push(piece))
  }

  return {
    take(bytes: Uint8Array): readonly Frame[] {
      const plain = unpacker.take(bytes)
      return plain === null ? [] : framesOf(decoder.decode(plain, { stream: true }))
    },
    /** What is left when nothing more comes. */
    end(): readonly Frame[] {
      const unpacked = unpacker.end()
      const last = [...(unpacked === null ? [] : framesOf(decoder.decode(unpacked, { stream: true })))]
      last.push(...framesOf(decoder.decode()))
      if (kind === 'page') throw unreadable(`it is a page and no answer: ${excerptOf(start)}`)
      if (kind === 'json') return wholeFrames(whole.join(''))
      last.push(...bounded(() => events?.end()))
      if (kind === 'events' && events?.hasEvents() !== true)
        throw unreadable(`it is neither JSON nor a stream of events: ${excerptOf(start)}`)
      return last
    },
  }
}

function bounded(work: () => readonly Frame[] | undefined): readonly Frame[] {
  try {
    return work() ?? []
  } catch {
    throw unreadable('an event of its stream is too large')
  }
}

/** One JSON text, or several: one a line, or one behind the other, also with events between them. */
function wholeFrames(text: string): readonly Frame[] {
  const { texts, rest } = jsonTextsIn(text)
  if (texts.length > 0 && /^(?:data|event):/m.test(rest)) {
    const events = createEventLines(eventMaxChars)
    return bounded(() => [...events.push(text), ...events.end()])
  }
  const all = texts.length > 1 ? (rest.trim() === '' ? texts : [...texts, rest]) : [text]
  return all.map((data) => ({ event: all.length === 1 ? 'whole' : 'message', data }))
}

/** The beginning of a text, as it may stand in a problem. Pure. */
export function excerptOf(text: string): string {
  const plain = text
    .replace(/<(?:script|style)[^]*?(?:<\/|$)|<[^>]*>?/gi, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return plain.slice(0, excerptMaxChars) || 'nothing but tags'
}

import { createUnpacker } from '../../wire/unpack-body.ts'
import { createEventLines } from './event-lines.ts'
import type { Frame } from './event-lines.ts'
import { jsonTextsIn } from './json-texts.ts'
import { unreadable } from './unreadable.ts'

/** The bound for one event: usually a few hundred bytes, but megabytes if it contains a picture. */
const eventMaxChars = 8 * 1024 * 1024
/** The bound in characters for an answer that is one JSON text or a sequence of JSON lines. */
const wholeMaxChars = 16 * 1024 * 1024
/** How much of an HTML page that a provider sends instead of an answer is quoted, in characters. */
const excerptMaxChars = 120
/** How much of a web page that a provider sends instead of an answer is read, in characters. */
const startMaxChars = 2000

/**
 * Splits the bytes of an answer into its texts and ignores the declared content type: server-sent events, one JSON
 * text, or one JSON text per line. The first non-blank character decides. Throws the Problem `provider-unreadable`
 * for anything else. The result does not depend on how the bytes were split into chunks.
 */
export function createAnswerFrames() {
  // The decoder removes a byte order mark and holds the bytes of an incomplete character.
  const decoder = new TextDecoder()
  const unpacker = createUnpacker(undefined)
  let kind: 'unknown' | 'events' | 'json' | 'page' = 'unknown'
  /** The first characters of the answer, for the error message if they cannot be parsed. */
  let start = ''
  let held = ''
  let events: ReturnType<typeof createEventLines> | null = null
  const whole: string[] = []
  let wholeChars = 0

  /** Holds the text back until its first non-blank character decides the kind; then returns all of it. */
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
      throw unreadable(`the provider sent a web page instead of an answer: ${excerptOf(start)}`)
    if (piece === '' || kind === 'page') return []
    if (kind === 'json') {
      wholeChars += piece.length
      if (wholeChars > wholeMaxChars) throw unreadable('the answer is too large')
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
    /** Returns the remaining frames at the end of the answer. */
    end(): readonly Frame[] {
      const unpacked = unpacker.end()
      const last = [...(unpacked === null ? [] : framesOf(decoder.decode(unpacked, { stream: true })))]
      last.push(...framesOf(decoder.decode()))
      if (kind === 'page')
        throw unreadable(`the provider sent a web page instead of an answer: ${excerptOf(start)}`)
      if (kind === 'json') return wholeFrames(whole.join(''))
      last.push(...bounded(() => events?.end()))
      if (kind === 'events' && events?.hasEvents() !== true)
        throw unreadable(`the answer is neither JSON nor a stream of events: ${excerptOf(start)}`)
      return last
    },
  }
}

function bounded(work: () => readonly Frame[] | undefined): readonly Frame[] {
  try {
    return work() ?? []
  } catch {
    throw unreadable('an event of the stream is too large')
  }
}

/** Returns the frames of one JSON text or of several: one per line, concatenated, or mixed with events. */
function wholeFrames(text: string): readonly Frame[] {
  const { texts, rest } = jsonTextsIn(text)
  if (texts.length > 0 && /^(?:data|event):/m.test(rest)) {
    const events = createEventLines(eventMaxChars)
    return bounded(() => [...events.push(text), ...events.end()])
  }
  const all = texts.length > 1 ? (rest.trim() === '' ? texts : [...texts, rest]) : [text]
  return all.map((data) => ({ event: all.length === 1 ? 'whole' : 'message', data }))
}

/** Returns the beginning of a text without tags and repeated blanks, short enough for a problem detail. Pure. */
export function excerptOf(text: string): string {
  const plain = text
    .replace(/<(?:script|style)[^]*?(?:<\/|$)|<[^>]*>?/gi, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return plain.slice(0, excerptMaxChars) || 'only HTML tags'
}

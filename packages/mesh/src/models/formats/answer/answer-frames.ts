import { createServerSentEventParser } from '@flotilla/protocol/server-sent-events'
import type { ServerSentEventParser } from '@flotilla/protocol/server-sent-events'
import { unreadable } from './unreadable.ts'

/** One text of an answer: the data of an event, a line, or all of it. */
export interface Frame {
  /** The name of the event; `message` where it has none. */
  readonly event: string
  readonly data: string
}

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
  let kind: 'unknown' | 'events' | 'json' | 'page' = 'unknown'
  /** The first characters, to be shown where they make no sense. */
  let start = ''
  let held = ''
  let events: ServerSentEventParser | null = null
  const whole: string[] = []
  let wholeChars = 0
  let count = 0

  /** What is held back as long as it is not known what comes. */
  function begin(text: string): string {
    held += text
    const first = held.trimStart()[0]
    if (first === undefined) {
      held = ''
      return ''
    }
    if (first === '<') kind = 'page'
    else kind = first === '{' || first === '[' ? 'json' : 'events'
    if (kind === 'events') events = createServerSentEventParser(eventMaxChars)
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
    const frames = pushed(events, piece)
    count += frames.length
    return frames
  }

  return {
    take: (bytes: Uint8Array): readonly Frame[] => framesOf(decoder.decode(bytes, { stream: true })),
    /** What is left when nothing more comes. */
    end(): readonly Frame[] {
      const last = [...framesOf(decoder.decode())]
      if (kind === 'page') throw unreadable(`it is a page and no answer: ${excerptOf(start)}`)
      if (kind === 'json') return wholeFrames(whole.join(''))
      // A server that hangs up right behind its last line has said it all the same.
      if (kind === 'events') last.push(...pushed(events, '\n\n'))
      if (kind === 'events' && count + last.length === 0 && !/^\s*:/.test(start))
        throw unreadable(`it is neither JSON nor a stream of events: ${excerptOf(start)}`)
      return last
    },
  }
}

function pushed(events: ServerSentEventParser | null, text: string): readonly Frame[] {
  try {
    return events?.push(text) ?? []
  } catch {
    throw unreadable('an event of its stream is too large')
  }
}

/** One JSON text, or one a line. */
function wholeFrames(text: string): readonly Frame[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  const isLines = lines.length > 1 && lines.every((line) => /^\s*\{[^]*\}\s*$/.test(line))
  return (isLines ? lines : [text]).map((data) => ({ event: 'message', data }))
}

/** The beginning of a text, as it may stand in a problem. Pure. */
export function excerptOf(text: string): string {
  const plain = text
    .replace(/<(?:script|style)[^]*?(?:<\/|$)|<[^>]*>?/gi, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return plain.slice(0, excerptMaxChars) || 'nothing but tags'
}

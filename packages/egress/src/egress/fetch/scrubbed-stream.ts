import { Problem } from '@flotilla/protocol/problem'
import type { PinnedReply } from './pinned-fetch.ts'

/**
 * Streams a body to an agent with secrets removed: event by event for an event stream, otherwise as a whole. Each
 * part is cleaned as one text, so that a secret split over two chunks is found. `close` is called exactly once. Fails
 * with `upstream-failed` at a limit, or with the signal's reason.
 */
export async function* scrubbedStream(
  reply: PinnedReply,
  options: {
    /** Removes the values of credentials from one part, in steps between which other agents are served. */
    readonly clean: (part: string) => Promise<string>
    /** Counts the bytes of the unfinished part; throws if there is no room for more. */
    readonly held: { take(bytes: number): void; giveBack(bytes: number): void }
    readonly signal: AbortSignal
    readonly bytesMax: number
    readonly partMaxBytes: number
    readonly close: (bytes: number, problem?: string) => Promise<void>
  },
): AsyncGenerator<Uint8Array> {
  const { clean, signal } = options
  const isEvents = /^text\/event-stream\b/i.test(reply.headers['content-type'] ?? '')
  const decoder = new TextDecoder()
  let bytes = 0
  /** Chunks of the unfinished part. */
  let pieces: string[] = []
  let chars = 0
  /** The last characters of the unfinished part, which may contain the start of an event separator. */
  let tail = ''
  let heldBytes = 0
  const hold = (more: number): void => {
    options.held.take(more)
    heldBytes += more
  }
  const release = (): void => {
    options.held.giveBack(heldBytes)
    heldBytes = 0
  }
  let problem: string | undefined
  try {
    for await (const chunk of reply.body) {
      signal.throwIfAborted()
      bytes += chunk.length
      if (bytes > options.bytesMax) throw tooMuch(`more than ${options.bytesMax} bytes`)
      hold(chunk.length)
      const text = decoder.decode(chunk, { stream: true })
      const end = isEvents ? endOfLastEvent(tail + text) - tail.length : 0
      if (end > 0) {
        pieces.push(text.slice(0, end))
        yield Buffer.from(await clean(pieces.join('')))
        pieces = []
        chars = 0
        release()
        hold(text.length - end)
      }
      const rest = end > 0 ? text.slice(end) : text
      pieces.push(rest)
      chars += rest.length
      tail = (end > 0 ? rest : tail + rest).slice(-markMaxChars)
      if (chars > options.partMaxBytes) throw tooMuch(`a part of more than ${options.partMaxBytes} bytes`)
    }
    pieces.push(decoder.decode())
    const last = pieces.join('')
    if (last !== '') yield Buffer.from(await clean(last))
  } catch (error) {
    const cause = signal.aborted ? signal.reason : error
    problem = cause instanceof Problem ? cause.code : 'upstream-failed'
    throw cause instanceof Problem
      ? cause
      : new Problem('upstream-failed', { detail: 'the answer was interrupted' })
  } finally {
    release()
    await options.close(bytes, problem)
  }
}

const markMaxChars = 3

/** Returns the position after the last complete event, including its empty line; 0 for none. */
function endOfLastEvent(text: string): number {
  const ends = ['\n\n', '\r\n\r\n', '\r\r'].map((mark) => {
    const at = text.lastIndexOf(mark)
    return at === -1 ? 0 : at + mark.length
  })
  return Math.max(...ends)
}

function tooMuch(what: string): Problem {
  return new Problem('upstream-failed', { detail: `the MCP server sent ${what}` })
}

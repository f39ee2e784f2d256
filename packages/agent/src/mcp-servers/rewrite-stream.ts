import { Transform } from 'node:stream'

/** Rewrites the text of one message. */
export type RewriteMessage = (text: string) => string

/** How a stream divides its messages: one a line, one in the data of each server-sent event, or one in all. */
export type Division = 'lines' | 'events' | 'whole'

/**
 * A stream that rewrites each message in it. A message longer than `messageMaxBytes` passes as it is, in pieces; the
 * reader behind it has its own limit.
 */
export function rewriteStream(
  division: Division,
  messageMaxBytes: number,
  rewrite: RewriteMessage,
): Transform {
  const rewriter = createRewriter(division, messageMaxBytes, rewrite)
  return new Transform({
    transform: (bytes: Uint8Array, _encoding, done) => done(null, rewriter.push(bytes)),
    flush: (done) => done(null, rewriter.end()),
  })
}

/** The rewriting of one stream, for bytes that arrive in pieces. */
export interface Rewriter {
  push(bytes: Uint8Array): Buffer
  /** Returns what is left at the end of the stream. */
  end(): Buffer
}

export function createRewriter(
  division: Division,
  messageMaxBytes: number,
  rewrite: RewriteMessage,
): Rewriter {
  /** The pieces of the incomplete message. */
  let open: Buffer[] = []
  let openBytes = 0
  /** The last bytes before the next piece: they can be part of the mark at the end of a message. */
  let tail = Buffer.alloc(0)
  /** True within a message that was longer than the limit. */
  let isPassing = false

  const take = (): Buffer => {
    const all = open.length === 1 ? (open[0] ?? Buffer.alloc(0)) : Buffer.concat(open)
    open = []
    openBytes = 0
    return all
  }
  const rewriteAll = (bytes: Buffer): Buffer =>
    bytes.length === 0 ? bytes : Buffer.from(rewriters[division](bytes.toString('utf8'), rewrite))

  return {
    push: (given) => {
      const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
      const searched = Buffer.concat([tail, bytes])
      const end = endOf(division, searched) - tail.length
      tail = searched.subarray(Math.max(end + tail.length, searched.length - 2))
      const passed: Buffer[] = []
      if (end > 0) {
        open.push(bytes.subarray(0, end))
        const complete = take()
        passed.push(isPassing ? complete : rewriteAll(complete))
        isPassing = false
      }
      const rest = bytes.subarray(Math.max(0, end))
      if (rest.length > 0) open.push(rest)
      openBytes += rest.length
      if (openBytes > messageMaxBytes || isPassing) {
        isPassing = true
        passed.push(take())
      }
      return Buffer.concat(passed)
    },
    end: () => (isPassing ? take() : rewriteAll(take())),
  }
}

/** Where the last complete message ends; 0 for none. */
function endOf(division: Division, bytes: Buffer): number {
  if (division === 'whole') return 0
  if (division === 'lines') return bytes.lastIndexOf('\n') + 1
  return Math.max(...eventEnds.map((mark) => lastEnd(bytes, mark)))
}

const eventEnds = ['\n\n', '\r\r', '\n\r\n'] as const

function lastEnd(bytes: Buffer, mark: string): number {
  const at = bytes.lastIndexOf(mark)
  return at < 0 ? 0 : at + mark.length
}

const rewriters: Readonly<Record<Division, (text: string, rewrite: RewriteMessage) => string>> = {
  whole: (text, rewrite) => rewrite(text),
  lines: (text, rewrite) => text.split('\n').map(rewrite).join('\n'),
  events: (text, rewrite) =>
    text
      .split(/(\r\n\r\n|\n\r\n|\n\n|\r\r)/)
      .map((event) => rewrittenEvent(event, rewrite))
      .join(''),
}

const isData = /^data(?::|$)/

/** The event with its data at its end; unchanged if the rewriting leaves its data as it is. */
function rewrittenEvent(event: string, rewrite: RewriteMessage): string {
  const lines = event.split(/\r\n|\n|\r/)
  const given = lines.flatMap((line) => (isData.test(line) ? [line.replace(/^data:? ?/, '')] : [])).join('\n')
  const made = given === '' ? given : rewrite(given)
  if (made === given) return event
  const others = lines.filter((line) => !isData.test(line))
  return [...others, ...made.split('\n').map((line) => `data: ${line}`)].join('\n')
}

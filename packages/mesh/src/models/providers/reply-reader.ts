/** The head of an answer, as far as anybody here looks at it. */
export interface ReplyHead {
  readonly status: number
  /** By name in small letters; of one that comes twice the first. */
  readonly headers: ReadonlyMap<string, string>
}

interface ReplyHears {
  head(head: ReplyHead): void
  /** A piece of the body, in memory of the reader's own; never empty. */
  data(bytes: Uint8Array): void
  /** It is whole. May the connection carry another call, and for how long may it lie idle? */
  over(reuse: { readonly isKept: boolean; readonly idleMaxMs: number | null }): void
}

interface ReplyReader {
  /** Takes what came; changes these bytes. Throws `BrokenReply`. */
  take(bytes: Buffer): void
  /** Nothing more comes. Throws `BrokenReply` where more was promised. */
  end(): void
  /** For the next answer on the same connection. */
  begin(hears: ReplyHears): void
}

/** What is no answer of HTTP/1.1, or passes a bound. */
export class BrokenReply extends Error {}

/** Names and values together, and what stands behind the last chunk, bytes. */
const headMaxBytes = 16 * 1024
/** Answers that only announce another one, before it. */
const informationalMax = 16
/** The length of a chunk in hexadecimal digits, and with what may stand behind it, bytes. */
const sizeDigitsMax = 12
const sizeLineMaxBytes = 256

type State = 'head' | 'sized' | 'open' | 'size' | 'chunk' | 'chunk-end' | 'trailers' | 'over'

const carriageReturn = 13
const lineFeed = 10
const headEnd = Buffer.from('\r\n\r\n')

/**
 * Reads answers of HTTP/1.1, one after the other. What could be read in two ways is refused and not guessed: two lengths,
 * a length beside chunks, lines that end otherwise than in CR LF. Nothing is kept of a body.
 */
export function createReplyReader(): ReplyReader {
  let hears: ReplyHears | null = null
  let state: State = 'over'
  /** Of a head or a line that is not whole. */
  let rest: Buffer | null = null
  /** Bytes of the body, or of the chunk, that are to come. */
  let left = 0
  let informational = 0
  let trailerBytes = 0
  let reuse = { isKept: false, idleMaxMs: null as number | null }
  /** Where the body stands in the bytes at hand: chunks are moved together, so that it is one piece. */
  let bodyFrom = 0
  let bodyTo = 0

  function tellBody(bytes: Buffer): void {
    if (bodyTo === bodyFrom) return
    const body = bytes.subarray(bodyFrom, bodyTo)
    bodyFrom = bodyTo = 0
    hears?.data(body)
  }

  function takeBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + left)
    if (bodyTo === bodyFrom) {
      bodyFrom = at
      bodyTo = end
    } else {
      bytes.copyWithin(bodyTo, at, end)
      bodyTo += end - at
    }
    left -= end - at
    return end
  }

  /** Behind the next line end, with the line; null and all of it kept while it is not whole. */
  function lineAt(bytes: Buffer, at: number, maxBytes: number): { line: string; end: number } | null {
    const found = bytes.indexOf(lineFeed, at)
    const end = found === -1 ? bytes.length : found + 1
    const piece = bytes.subarray(at, end)
    const whole = rest === null ? piece : Buffer.concat([rest, piece])
    if (whole.length > maxBytes) throw new BrokenReply('a line of the answer is too long')
    if (found === -1) {
      rest = Buffer.from(whole)
      return null
    }
    rest = null
    if (whole[whole.length - 2] !== carriageReturn) throw new BrokenReply('a line does not end in CR LF')
    return { line: whole.toString('latin1', 0, whole.length - 2), end }
  }

  function takeHead(bytes: Buffer, at: number): number {
    const kept = rest === null ? 0 : rest.length
    const whole: Buffer = rest === null ? bytes.subarray(at) : Buffer.concat([rest, bytes.subarray(at)])
    // The mark may begin in what was kept.
    const end = whole.indexOf(headEnd, Math.max(0, kept - 3))
    // All but the last byte of the mark may stand at its end.
    const least = end === -1 ? whole.length - headEnd.length + 1 : end
    if (least > headMaxBytes) {
      throw new BrokenReply('the head of the answer is too long')
    }
    if (end === -1) {
      rest = Buffer.from(whole)
      return bytes.length
    }
    rest = null
    begun(whole.toString('latin1', 0, end))
    return at + end + headEnd.length - kept
  }

  function begun(text: string): void {
    const head = readHead(text)
    if (head.status < 200) {
      if (head.status === 101 || ++informational > informationalMax)
        throw new BrokenReply('the answer announces too much')
      return
    }
    const framing = framingOf(head)
    reuse = { isKept: framing.isKept, idleMaxMs: head.idleMaxMs }
    left = framing.length ?? 0
    if (framing.isChunked) state = 'size'
    else if (framing.length === null) state = 'open'
    else if (framing.length === 0) state = 'over'
    else state = 'sized'
    hears?.head({ status: head.status, headers: head.headers })
  }

  function takeSize(bytes: Buffer, at: number): number {
    const plainEnd = rest === null ? plainSizeEnd(bytes, at) : -1
    const found = plainEnd === -1 ? lineAt(bytes, at, sizeLineMaxBytes) : null
    if (plainEnd !== -1) left = plainSize(bytes, at, plainEnd)
    else if (found === null) return bytes.length
    else left = chunkSize(found.line)
    trailerBytes = 0
    state = left === 0 ? 'trailers' : 'chunk'
    return found?.end ?? plainEnd + 2
  }

  function takeChunkEnd(bytes: Buffer, at: number): number {
    if (rest === null && bytes[at] === carriageReturn && bytes[at + 1] === lineFeed) {
      state = 'size'
      return at + 2
    }
    // Nothing but a line end has room in it.
    const found = lineAt(bytes, at, 2)
    if (found === null) return bytes.length
    state = 'size'
    return found.end
  }

  function takeTrailer(bytes: Buffer, at: number): number {
    const found = lineAt(bytes, at, headMaxBytes)
    if (found === null) return bytes.length
    trailerBytes += found.line.length + 2
    if (trailerBytes > headMaxBytes) throw new BrokenReply('too much stands behind the last chunk')
    if (found.line === '') state = 'over'
    return found.end
  }

  function step(bytes: Buffer, at: number): number {
    switch (state) {
      case 'head':
        return takeHead(bytes, at)
      case 'size':
        return takeSize(bytes, at)
      case 'chunk': {
        const end = takeBody(bytes, at)
        if (left === 0) state = 'chunk-end'
        return end
      }
      case 'chunk-end':
        return takeChunkEnd(bytes, at)
      case 'trailers':
        return takeTrailer(bytes, at)
      case 'sized': {
        const end = takeBody(bytes, at)
        if (left === 0) state = 'over'
        return end
      }
      case 'open':
        left = bytes.length - at
        return takeBody(bytes, at)
      case 'over':
        throw new BrokenReply('more comes than the answer')
    }
  }

  return {
    begin(next) {
      hears = next
      state = 'head'
      rest = null
      informational = 0
    },
    take(bytes) {
      bodyFrom = bodyTo = 0
      let at = 0
      try {
        // What comes behind an answer makes it no worse, and ends its connection.
        while (at < bytes.length && state !== 'over') at = step(bytes, at)
      } finally {
        tellBody(bytes)
      }
      if (state !== 'over') return
      const ended = hears
      hears = null
      if (ended === null) throw new BrokenReply('nobody has asked for this answer')
      ended.over(at < bytes.length ? { ...reuse, isKept: false } : reuse)
    },
    end() {
      const ended = hears
      hears = null
      if (ended === null) return
      if (state !== 'open') throw new BrokenReply('the answer breaks off')
      ended.over({ isKept: false, idleMaxMs: null })
    },
  }
}

/** Whatever may stand in a name of a header (RFC 9110), and in its value: no control characters but the tab. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const control = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/
const statusLine = /^HTTP\/1\.([01]) (\d{3})(?: |$)/

interface ReadHead extends ReplyHead {
  readonly isOld: boolean
  /** Of those that say where the body ends every one counts. */
  readonly lengths: readonly string[]
  readonly encodings: readonly string[]
  readonly idleMaxMs: number | null
}

function readHead(text: string): ReadHead {
  const lines = text.split('\r\n')
  const [first = ''] = lines
  const told = statusLine.exec(first)
  if (told === null || control.test(text)) throw new BrokenReply('this is no head of HTTP/1.1')
  const headers = new Map<string, string>()
  const lengths: string[] = []
  const encodings: string[] = []
  for (let index = 1; index < lines.length; index++) {
    const line = lines[index] ?? ''
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    // Also a value that goes on in the next line, as long ago.
    if (colon < 1 || !token.test(name)) throw new BrokenReply('a header has no name')
    const value = line.slice(colon + 1).trim()
    if (name === 'content-length') lengths.push(value)
    else if (name === 'transfer-encoding') encodings.push(value)
    else if (!headers.has(name)) headers.set(name, value)
  }
  return {
    status: Number(told[2]),
    isOld: told[1] === '0',
    headers,
    lengths,
    encodings,
    idleMaxMs: idleMaxMsOf(headers.get('keep-alive')),
  }
}

/** `timeout=5`, in seconds. */
function idleMaxMsOf(said: string | undefined): number | null {
  const seconds = said === undefined ? undefined : /(?:^|[,\s])timeout=(\d{1,6})(?:$|[,\s])/i.exec(said)?.[1]
  return seconds === undefined ? null : Number(seconds) * 1000
}

interface Framing {
  readonly isChunked: boolean
  /** Null for what ends with its connection. */
  readonly length: number | null
  readonly isKept: boolean
}

function framingOf({ status, isOld, headers, lengths, encodings }: ReadHead): Framing {
  const isKept = !isOld && !/(?:^|[,\s])close(?:$|[,\s])/i.test(headers.get('connection') ?? '')
  if (encodings.length > 0) {
    const [encoding = ''] = encodings
    if (isOld || encodings.length > 1 || lengths.length > 0 || encoding.toLowerCase() !== 'chunked')
      throw new BrokenReply('where the answer ends can be read in two ways')
    return { isChunked: true, length: null, isKept }
  }
  if (status === 204 || status === 304) return { isChunked: false, length: 0, isKept }
  const [length] = lengths
  if (length === undefined) return { isChunked: false, length: null, isKept: false }
  if (!/^\d{1,15}$/.test(length) || lengths.some((other) => other !== length))
    throw new BrokenReply('the answer has no length that can be read in one way')
  return { isChunked: false, length: Number(length), isKept }
}

/** Of each byte; 255 for one that is none. */
const digitOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(digit) ? 255 : digit
})

/** Where the digits end that stand here with nothing but a line end behind them; -1 for what is to be looked at closely. */
function plainSizeEnd(bytes: Buffer, at: number): number {
  let end = at
  while (end < bytes.length && end - at <= sizeDigitsMax && digitOf[bytes[end] ?? 0] !== 255) end++
  const isPlain = end > at && end - at <= sizeDigitsMax
  return isPlain && bytes[end] === carriageReturn && bytes[end + 1] === lineFeed ? end : -1
}

function plainSize(bytes: Buffer, from: number, end: number): number {
  let size = 0
  for (let at = from; at < end; at++) size = size * 16 + (digitOf[bytes[at] ?? 0] ?? 0)
  return size
}

const sizeLine = /^([0-9A-Fa-f]+)[ \t]*(?:;.*)?$/

function chunkSize(line: string): number {
  const digits = sizeLine.exec(line)?.[1]
  if (digits === undefined || digits.length > sizeDigitsMax || control.test(line))
    throw new BrokenReply('a chunk does not say how long it is')
  return Number.parseInt(digits, 16)
}

/** The status and headers of an HTTP response. */
export interface ReplyHead {
  readonly status: number
  /** Headers by lower-case name; the first value wins if a header is repeated. */
  readonly headers: ReadonlyMap<string, string>
}

interface ReplyHears {
  head(head: ReplyHead): void
  /** Passes a piece of the body; never empty. The piece is a view of the bytes given to `take`. */
  data(bytes: Uint8Array): void
  /** Reports the end of the response: whether the connection can be reused, and how long it may be idle. */
  over(reuse: { readonly isKept: boolean; readonly idleMaxMs: number | null }): void
}

interface ReplyReader {
  /** Parses received bytes and modifies them in place. Throws `BrokenReply`. */
  take(bytes: Buffer): void
  /** Reports that the provider closed the connection. Throws `BrokenReply` if the response is incomplete. */
  end(): void
  /** Prepares for the next response on the same connection. */
  begin(hears: ReplyHears): void
}

/** The bytes are no valid HTTP/1.1 response, or exceed a limit. */
export class BrokenReply extends Error {}

/** The limit of all headers together, and of the trailers after the last chunk, in bytes. */
const headMaxBytes = 16 * 1024
/** The limit of 1xx responses before the final response. */
const informationalMax = 16
/** Limits of a chunk size: its hexadecimal digits, and the line with chunk extensions in bytes. */
const sizeDigitsMax = 12
const sizeLineMaxBytes = 256

type State = 'head' | 'sized' | 'open' | 'size' | 'chunk' | 'chunk-end' | 'trailers' | 'over'

const carriageReturn = 13
const lineFeed = 10
const headEnd = Buffer.from('\r\n\r\n')

/**
 * Parses HTTP/1.1 responses one after the other. Ambiguous responses are rejected, which prevents response smuggling:
 * two different lengths, a length together with chunks, lines that do not end in CR LF. The body is not stored.
 */
export function createReplyReader(): ReplyReader {
  let hears: ReplyHears | null = null
  let state: State = 'over'
  /** The bytes of an incomplete head or line. */
  let rest: Buffer | null = null
  /** How many bytes of the body or chunk have not arrived yet. */
  let left = 0
  let informational = 0
  let trailerBytes = 0
  let reuse = { isKept: false, idleMaxMs: null as number | null }
  /** The range of the body in the current bytes; the data of several chunks are moved together to form one piece. */
  let bodyFrom = 0
  let bodyTo = 0

  function emitBody(bytes: Buffer): void {
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

  /** Returns the next line and the index after it; stores the bytes and returns null while the line is incomplete. */
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
    // The empty line may begin in the bytes that were stored.
    const end = whole.indexOf(headEnd, Math.max(0, kept - 3))
    // The bytes may end with an incomplete empty line, whose bytes do not count against the limit of the head.
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
    // The limit of two bytes allows only a line end.
    const found = lineAt(bytes, at, 2)
    if (found === null) return bytes.length
    state = 'size'
    return found.end
  }

  function takeTrailer(bytes: Buffer, at: number): number {
    const found = lineAt(bytes, at, headMaxBytes)
    if (found === null) return bytes.length
    trailerBytes += found.line.length + 2
    if (trailerBytes > headMaxBytes) throw new BrokenReply('too many bytes follow the last chunk')
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
        // Bytes after a complete response do not invalidate it, but the connection is not reused.
        while (at < bytes.length && state !== 'over') at = step(bytes, at)
      } finally {
        emitBody(bytes)
      }
      if (state !== 'over') return
      const ended = hears
      hears = null
      if (ended === null) throw new BrokenReply('an answer without a request')
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

/** The characters of a header name (RFC 9110); values may have no control characters except the tab. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const control = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/
const statusLine = /^HTTP\/1\.([01]) (\d{3})(?: |$)/

interface ReadHead extends ReplyHead {
  readonly isOld: boolean
  /** All values of the headers that define the end of the body, since a second one makes it ambiguous. */
  readonly lengths: readonly string[]
  readonly encodings: readonly string[]
  readonly idleMaxMs: number | null
}

function readHead(text: string): ReadHead {
  const lines = text.split('\r\n')
  const [first = ''] = lines
  const matched = statusLine.exec(first)
  if (matched === null || control.test(text)) throw new BrokenReply('this is no head of HTTP/1.1')
  const headers = new Map<string, string>()
  const lengths: string[] = []
  const encodings: string[] = []
  for (let index = 1; index < lines.length; index++) {
    const line = lines[index] ?? ''
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    // This check also rejects obsolete folded header values.
    if (colon < 1 || !token.test(name)) throw new BrokenReply('a header has no name')
    const value = line.slice(colon + 1).trim()
    if (name === 'content-length') lengths.push(value)
    else if (name === 'transfer-encoding') encodings.push(value)
    else if (!headers.has(name)) headers.set(name, value)
  }
  return {
    status: Number(matched[2]),
    isOld: matched[1] === '0',
    headers,
    lengths,
    encodings,
    idleMaxMs: idleMaxMsOf(headers.get('keep-alive')),
  }
}

/** Returns the idle timeout in milliseconds from a header `keep-alive`, such as `timeout=5` (seconds). */
function idleMaxMsOf(header: string | undefined): number | null {
  const seconds =
    header === undefined ? undefined : /(?:^|[,\s])timeout=(\d{1,6})(?:$|[,\s])/i.exec(header)?.[1]
  return seconds === undefined ? null : Number(seconds) * 1000
}

interface Framing {
  readonly isChunked: boolean
  /** The length of the body, bytes; null for chunks, and if the body ends when the connection closes. */
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

/** The value of each byte as a hexadecimal digit; 255 if it is not a digit. */
const digitOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(digit) ? 255 : digit
})

/** Returns the end of a chunk size without extensions; -1 if the line needs the complete parser. */
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

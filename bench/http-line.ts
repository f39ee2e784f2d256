import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** Measurements of one exchange. Times are ms since the request was written. */
export interface Exchange {
  readonly status: number
  readonly firstBodyByteMs: number
  readonly totalMs: number
  readonly bodyBytes: number
  /** The end of the body as text, which shows whether a stream was complete. */
  readonly tail: string
}

/**
 * A keep-alive connection on a bare socket, for one exchange at a time. A load generator must cost less than the
 * program that it measures.
 */
export interface HttpLine {
  exchange(request: Buffer): Promise<Exchange>
  close(): void
}

const headEnd = Buffer.from('\r\n\r\n')
const exchangeTimeoutMs = 20_000
const tailBytes = 64
/** A chunk's size in hex, a line end and room for extensions, which no client sends. */
const chunkLineMaxBytes = 100

export function openLine(host: string, port: number): Promise<HttpLine> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    socket.setNoDelay(true)
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(createLine(socket))
    })
  })
}

interface Pending {
  readonly startedAt: number
  readonly resolve: (exchange: Exchange) => void
  readonly reject: (error: Error) => void
  head: Buffer | null
  status: number
  firstBodyByteMs: number
  bodyBytes: number
  tail: Buffer
  body: BodyReader | null
}

/** Reads bytes of a body; returns true once the body is complete. */
type BodyReader = (bytes: Buffer) => boolean

function createLine(socket: Socket): HttpLine {
  let pending: Pending | null = null

  function fail(error: Error): void {
    pending?.reject(error)
    pending = null
    socket.destroy()
  }

  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the connection was closed')))
  socket.setTimeout(exchangeTimeoutMs, () => {
    if (pending) fail(new Error(`no answer within ${exchangeTimeoutMs / 1000} s`))
  })
  socket.on('data', (bytes: Buffer) => {
    if (!pending) {
      fail(new Error('an answer to nothing'))
      return
    }
    if (take(pending, bytes)) {
      const { status, firstBodyByteMs, bodyBytes, tail, resolve, startedAt } = pending
      pending = null
      resolve({
        status,
        firstBodyByteMs,
        totalMs: performance.now() - startedAt,
        bodyBytes,
        tail: tail.toString('latin1'),
      })
    }
  })

  return {
    exchange: (request) =>
      new Promise((resolve, reject) => {
        if (pending) throw new Error('one exchange at a time')
        pending = {
          startedAt: performance.now(),
          resolve,
          reject,
          head: null,
          status: 0,
          firstBodyByteMs: Number.NaN,
          bodyBytes: 0,
          tail: Buffer.alloc(0),
          body: null,
        }
        if (socket.destroyed) fail(new Error('the connection is closed'))
        else socket.write(request)
      }),
    close: () => {
      socket.removeAllListeners('close')
      socket.destroy()
    },
  }
}

function take(pending: Pending, bytes: Buffer): boolean {
  if (pending.body) return takeBody(pending, bytes)
  const buffer = pending.head ? Buffer.concat([pending.head, bytes]) : bytes
  const at = buffer.indexOf(headEnd)
  if (at === -1) {
    pending.head = buffer
    return false
  }
  const head = buffer.toString('latin1', 0, at)
  pending.status = Number(head.slice(9, 12))
  pending.body = bodyReader(pending, head)
  return takeBody(pending, buffer.subarray(at + headEnd.length))
}

function takeBody(pending: Pending, bytes: Buffer): boolean {
  if (bytes.length > 0 && pending.bodyBytes === 0) {
    pending.firstBodyByteMs = performance.now() - pending.startedAt
  }
  return pending.body?.(bytes) ?? true
}

function bodyReader(pending: Pending, head: string): BodyReader {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length !== undefined) {
    return (bytes) => {
      keep(pending, bytes)
      return pending.bodyBytes >= Number(length)
    }
  }
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return chunkReader(pending)
  throw new Error(`neither a length nor chunks: ${head.slice(0, 200)}`)
}

function chunkReader(pending: Pending): BodyReader {
  let sizeLine = ''
  /** Bytes left of the chunk and its line end; null while its size is being read. */
  let left: number | null = null
  let last = false
  return (bytes) => {
    let at = 0
    while (at < bytes.length) {
      if (left === null) {
        const lineEnd = bytes.indexOf(10, at)
        const until = lineEnd === -1 ? bytes.length : lineEnd + 1
        sizeLine += bytes.toString('latin1', at, until)
        at = until
        if (sizeLine.length > chunkLineMaxBytes) throw new Error('not a chunk')
        if (lineEnd === -1) return false
        const size = Number.parseInt(sizeLine, 16)
        sizeLine = ''
        last = size === 0
        left = size + 2
      }
      const until = Math.min(bytes.length, at + left)
      const data = Math.min(until - at, left - 2)
      if (data > 0) keep(pending, bytes.subarray(at, at + data))
      left -= until - at
      at = until
      if (left === 0) {
        if (last) return true
        left = null
      }
    }
    return false
  }
}

function keep(pending: Pending, bytes: Buffer): void {
  pending.bodyBytes += bytes.length
  pending.tail =
    bytes.length >= tailBytes
      ? bytes.subarray(-tailBytes)
      : Buffer.concat([pending.tail, bytes]).subarray(-tailBytes)
}

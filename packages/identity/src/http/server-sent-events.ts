import type { FastifyReply } from 'fastify'
import { wireLimits } from '@flotilla/protocol/limits'
import { unreadMaxBytes } from './event-reader-limits.ts'

interface EventLabels {
  readonly id?: number
  readonly event?: string
}

export interface EventStream {
  /** False once the reader has disconnected. */
  send(frame: unknown, more?: EventLabels): boolean
  /** Like `send`, for text that is JSON already. */
  sendJson(json: string, more?: EventLabels): boolean
  end(): void
  /** Resolves when the reader has taken everything that was sent, or has disconnected. */
  drained(): Promise<void>
  /** Aborts when the reader disconnects or is disconnected. */
  readonly signal: AbortSignal
}

/** Turns a reply into server-sent events: JSON in `data`, a comment as keep-alive, bounded memory. */
export function openEventStream(
  reply: FastifyReply,
  keepAliveMs: number = wireLimits.keepAliveMs,
): EventStream {
  const gone = new AbortController()
  const socket = reply.raw
  reply.hijack()
  socket.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-accel-buffering': 'no',
  })
  // Node holds headers back until there is a body, so a reader of a quiet stream would wait for the first keep-alive.
  socket.flushHeaders()
  const keepAlive = setInterval(() => write(': keep-alive\n\n'), keepAliveMs)
  socket.once('close', () => {
    clearInterval(keepAlive)
    gone.abort(new Error('the reader went away'))
  })

  function write(text: string): boolean {
    if (gone.signal.aborted || socket.writableEnded) return false
    if (socket.writableLength > unreadMaxBytes) {
      socket.destroy()
      return false
    }
    socket.write(text)
    return true
  }

  function sendJson(json: string, { id, event }: EventLabels = {}): boolean {
    const name = event === undefined ? '' : `event: ${event}\n`
    const number = id === undefined ? '' : `id: ${id}\n`
    return write(`${name}${number}data: ${json}\n\n`)
  }

  return {
    signal: gone.signal,
    drained: () =>
      new Promise((resolve) => {
        if (gone.signal.aborted || !socket.writableNeedDrain) {
          resolve()
          return
        }
        const done = () => {
          socket.off('drain', done).off('close', done)
          resolve()
        }
        socket.on('drain', done).on('close', done)
      }),
    send: (frame, more) => sendJson(JSON.stringify(frame), more),
    sendJson,
    end: () => {
      clearInterval(keepAlive)
      socket.end()
    },
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '@flotilla/protocol/problem'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import type { Caller } from '../access/index.ts'
import { readerLifeMs, unreadMaxBytes } from './event-reader-limits.ts'
import { readerOf, socketObstacle } from './socket-room.ts'
import type { SocketReader } from './socket-room.ts'

/**
 * The maximum size of one message that a reader of the event stream sends, in bytes. The mesh ignores such messages,
 * so a reader that sends a larger one is disconnected.
 */
const messageMaxBytes = 256
/** Seconds after which a rejected client may retry. */
const refusedRetrySeconds = 5
/** How long a refused client may keep its connection to read the reason, in milliseconds. */
const refusedLingerMs = 250

/** Codes of RFC 6455 and of its registry. */
const closeCodes = { goingAway: 1001, tryAgain: 1013 } as const

interface Upgrade {
  readonly socket: Duplex
  readonly head: Buffer
  readonly open: (
    request: IncomingMessage,
    upgrade: Upgrade,
    reading: { readonly by: SocketReader; readonly opened: (reader: WebSocket) => void },
  ) => void
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>()

/** Whether a client requests a WebSocket. An upgrade to another protocol is ignored. */
export function wantsSocket(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket'
}

/** True if the request's connection becomes a socket: Node has handed it over, whatever its headers contain. */
export function isUpgrade(request: IncomingMessage): boolean {
  return upgrades.has(request)
}

/**
 * Passes requests for a socket through the same routes, hooks and gates as all others, so that what rejects a call
 * also rejects a socket: `bear` creates the response to which a rejection is written.
 */
export function serveSockets(
  server: FastifyInstance,
  bear: (request: IncomingMessage) => ServerResponse,
): void {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: messageMaxBytes,
  })
  const readers = new Map<WebSocket, SocketReader>()
  const open: Upgrade['open'] = (request, { socket, head }, { by, opened }) => {
    const obstacle = socketObstacle([...readers.values()], by)
    if (obstacle !== null) {
      throw new Problem('rate-limited', {
        detail: obstacle,
        repair: 'Close a page of the dashboard that you do not need; the other pages keep working.',
        retryAfterSeconds: refusedRetrySeconds,
      })
    }
    sockets.handleUpgrade(request, socket, head, (reader) => {
      readers.set(reader, by)
      reader.once('close', () => readers.delete(reader))
      opened(reader)
    })
  }
  server.server.on('upgrade', (request, socket, head) => {
    const answer = bear(request)
    socket.on('error', () => socket.destroy())
    answer.assignSocket(socket as Parameters<ServerResponse['assignSocket']>[0])
    answer.once('finish', () => release(socket))
    upgrades.set(request, { socket, head, open })
    server.routing(request, answer)
  })
}

/**
 * Takes the socket of a request that a gate admitted, for a protocol other than events. No HTTP response is
 * written to it afterwards.
 */
export function takeLine(
  { raw }: FastifyRequest,
  reply: FastifyReply,
): Pick<Upgrade, 'head'> & { line: Duplex } {
  const upgrade = upgrades.get(raw)
  if (!upgrade) throw new Problem('bad-request', { detail: 'this path accepts only WebSocket connections' })
  reply.hijack()
  reply.raw.detachSocket(upgrade.socket as Parameters<ServerResponse['detachSocket']>[0])
  return { line: upgrade.socket, head: upgrade.head }
}

/** The refusal is written: the client has a limited time to read it, after which the connection is closed. */
function release(line: Duplex): void {
  const late = setTimeout(() => line.destroy(), refusedLingerMs)
  line.once('close', () => clearTimeout(late))
  // Incoming bytes are discarded; unread, they would reset the connection and lose the refusal.
  line.resume()
  line.end()
}

/** Writes to a reader within bounded memory; see `EventStream`. */
export interface EventSocket {
  send(frame: unknown): boolean
  /** Like `send`, for bytes that are JSON already. Readers may share the bytes and must not change them. */
  sendJson(bytes: Uint8Array): boolean
  drained(): Promise<void>
  readonly signal: AbortSignal
}

/**
 * Opens a socket for a request that a gate admitted as `caller`. Throws the Problems `bad-request` if it requested no
 * socket, and `rate-limited` if `caller` or all callers have the maximum number.
 */
export function openEventSocket(
  { raw }: FastifyRequest,
  reply: FastifyReply,
  {
    caller,
    keepAliveMs,
    alive,
  }: { readonly caller: Caller; readonly keepAliveMs: number; readonly alive: () => unknown },
): Promise<EventSocket> {
  const upgrade = upgrades.get(raw)
  if (!upgrade) {
    throw new Problem('bad-request', {
      detail:
        'this path accepts only WebSocket connections; over plain HTTP the same events are at /api/events',
    })
  }
  return new Promise((resolve) => {
    upgrade.open(raw, upgrade, {
      by: readerOf(caller),
      opened: (reader) => resolve(socketOf(reader, { line: upgrade.socket, keepAliveMs, alive })),
    })
    // The connection now belongs to the socket; no HTTP response may be written to it.
    reply.hijack()
    reply.raw.detachSocket(upgrade.socket as Parameters<ServerResponse['detachSocket']>[0])
  })
}

/** Bytes are a binary message otherwise. */
const asText = { binary: false } as const

function socketOf(
  reader: WebSocket,
  {
    line,
    keepAliveMs,
    alive,
  }: { readonly line: Duplex; readonly keepAliveMs: number; readonly alive: () => unknown },
): EventSocket {
  const gone = new AbortController()
  const waiting = new Set<() => void>()
  let unsent = 0
  let isGathering = false
  const keepAlive = setInterval(() => send(alive()), keepAliveMs)
  const life = setTimeout(() => reader.close(closeCodes.goingAway, 'come back'), readerLifeMs)
  // Readers have no valid messages to send.
  reader.on('message', () => reader.terminate())
  reader.on('error', () => reader.terminate())
  reader.once('close', () => {
    clearInterval(keepAlive)
    clearTimeout(life)
    gone.abort(new Error('the reader went away'))
    wake()
  })

  function wake(): void {
    for (const resolve of waiting) resolve()
    waiting.clear()
  }

  const sent = (): void => {
    unsent--
    if (unsent === 0) wake()
  }

  /** Batches the events of one turn: most of a reader's cost is its writes. */
  function gather(): void {
    if (isGathering) return
    isGathering = true
    line.cork()
    queueMicrotask(() => {
      isGathering = false
      line.uncork()
    })
  }

  function sendJson(bytes: Uint8Array): boolean {
    if (gone.signal.aborted || reader.readyState !== reader.OPEN) return false
    if (reader.bufferedAmount > unreadMaxBytes) {
      // Unread data would delay an orderly close for as long as it is unread.
      reader.close(closeCodes.tryAgain)
      reader.terminate()
      return false
    }
    unsent++
    gather()
    reader.send(bytes, asText, sent)
    return true
  }

  function send(frame: unknown): boolean {
    return sendJson(Buffer.from(JSON.stringify(frame)))
  }

  return {
    send,
    sendJson,
    signal: gone.signal,
    drained: () =>
      new Promise((resolve) => {
        if (gone.signal.aborted || unsent === 0) resolve()
        else waiting.add(resolve)
      }),
  }
}

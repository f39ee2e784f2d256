import { isIP } from 'node:net'
import { createFairShare } from '@flotilla/foundation/intake'
import type { TunnelProxy } from '@flotilla/foundation/platform'
import { openConnection } from './provider-connection.ts'
import type { Answering, Connection, ConnectionBounds } from './provider-connection.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

export interface ProviderTimeouts {
  readonly connectMs: number
  /** The limit from the request to the end of the head; without streaming, providers make the whole answer first. */
  readonly headersMs: number
  /** The longest silence within the body. */
  readonly bodyIdleMs: number
  /** The limit from the request to the end of the answer, also for an answer that never falls silent. */
  readonly answerMs: number
}

const providerTimeouts: ProviderTimeouts = {
  connectMs: 10_000,
  headersMs: 120_000,
  bodyIdleMs: 120_000,
  answerMs: 60 * 60_000,
}

/** The most calls that wait for a connection; far more than agents may have open. */
const waitingMax = 4096
/** How long an idle connection is kept. Load balancers usually wait longer, so calls meet no closing connection. */
const keepAliveMs = 30_000
/** The margin by which the mesh closes a connection before the idle timeout that the provider states. */
const keepAliveMarginMs = 2000

/** The share name of calls of people and of the mesh, which share connections like one agent. */
const meshShare = ''

export interface ProviderCall {
  /** The agent whose share of the connections the call takes; null for calls of people and of the mesh itself. */
  readonly agentId: string | null
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
}

/** Connections to one provider's origin, and to no other. */
export interface ProviderPool {
  /**
   * Sends the call on a free connection and notifies `answering`. Returns a function that withdraws an unsent
   * call.
   */
  dispatch(call: ProviderCall, answering: Answering): () => void
  /** Closes all open connections. */
  destroy(): Promise<void>
}

/**
 * Keeps connections for the next calls, through a proxy if one is given; each carries one call at a time. A call of
 * an agent whose share is used up waits, and calls of other agents overtake it.
 */
export function openProviderPool(
  origin: string,
  timeouts: Partial<ProviderTimeouts> = {},
  proxy: TunnelProxy | null = null,
): ProviderPool {
  const url = new URL(origin)
  const bounds: ConnectionBounds = {
    ...providerTimeouts,
    ...timeouts,
    idleMs: keepAliveMs,
    idleMarginMs: keepAliveMarginMs,
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isTls = url.protocol === 'https:'
  const far = {
    host,
    port: Number(url.port || (isTls ? 443 : 80)),
    tls: isTls ? { servername: isIP(host) === 0 ? host : '', session: null } : null,
    proxy,
  }
  const open = new Set<Connection>()
  /** The connection used last is used next, so that connections that are not needed expire. */
  const idle: Connection[] = []
  const waiting: Waiting[] = []
  const share = createFairShare(agentShareLimits.providerConnections)
  /** The agent whose share each busy connection takes. */
  const takenFor = new Map<Connection, string>()
  /** Requests with a connection, sent once its callbacks have returned. */
  let due: { readonly one: Waiting; readonly connection: Connection }[] = []
  let isClosed = false

  function sendDue(): void {
    const calls = due
    due = []
    for (const { one, connection } of calls) {
      if (open.has(connection)) connection.send(one.bytes, one.answering)
      else assign(one)
    }
  }

  /** Sends the call after pending events, because a kept connection may have closed or received stray bytes. */
  function reuse(one: Waiting, connection: Connection): void {
    takenFor.set(connection, one.agentId)
    if (due.length === 0) setImmediate(sendDue)
    due.push({ one, connection })
  }

  function assign(one: Waiting): void {
    if (!one.answering.isWanted()) return
    if (isClosed) one.answering.onError(new Error('the connections to this provider are closed'))
    else if (share.take(one.agentId, 1) === null) carry(one)
    else if (waiting.length < waitingMax) waiting.push(one)
    else
      one.answering.onError(new Error(`${waitingMax} calls already wait for a connection to this provider`))
  }

  /** Sends a call that its agent's share already counts. */
  function carry(one: Waiting): void {
    const kept = idle.pop()
    if (kept !== undefined) {
      reuse(one, kept)
      return
    }
    const connection = openConnection(far, bounds, { free, gone })
    open.add(connection)
    takenFor.set(connection, one.agentId)
    connection.send(one.bytes, one.answering)
  }

  function giveBack(connection: Connection): void {
    const agentId = takenFor.get(connection)
    if (agentId === undefined) return
    takenFor.delete(connection)
    share.giveBack(agentId, 1)
    for (let next = nextWithRoom(); next !== null; next = nextWithRoom()) carry(next)
  }

  /** Returns the longest waiting call whose agent has room in its share; the share counts the call from now on. */
  function nextWithRoom(): Waiting | null {
    const full = new Set<string>()
    for (let at = 0; at < waiting.length; at++) {
      const one = waiting[at]!
      if (!one.answering.isWanted()) waiting.splice(at--, 1)
      else if (!full.has(one.agentId)) {
        if (share.take(one.agentId, 1) === null) return waiting.splice(at, 1)[0] ?? null
        full.add(one.agentId)
      }
    }
    return null
  }

  function free(connection: Connection): void {
    idle.push(connection)
    giveBack(connection)
  }

  function gone(connection: Connection): void {
    open.delete(connection)
    const at = idle.indexOf(connection)
    if (at !== -1) idle.splice(at, 1)
    giveBack(connection)
  }

  /** Removes a waiting call, so that neither its place nor its bytes are kept. */
  function leave(answering: Answering): void {
    const at = waiting.findIndex((one) => one.answering === answering)
    if (at !== -1) waiting.splice(at, 1)
    else for (const connection of open) connection.leave(answering)
  }

  function send(call: ProviderCall, answering: Answering): () => void {
    let bytes: Uint8Array
    try {
      bytes = requestBytes(url.host, call)
    } catch (error) {
      answering.onError(error as Error)
      return () => {}
    }
    assign({ agentId: call.agentId ?? meshShare, bytes, answering })
    return () => leave(answering)
  }

  return {
    dispatch: send,
    async destroy() {
      isClosed = true
      idle.length = 0
      for (const one of waiting.splice(0)) assign(one)
      for (const connection of open) connection.destroy()
    },
  }
}

interface Waiting {
  /** The agent whose share of the connections the call takes. */
  readonly agentId: string
  readonly bytes: Uint8Array
  readonly answering: Answering
}

/** Returns the request in one piece, so that one write sends it. */
function requestBytes(host: string, { method, path, headers, body }: ProviderCall): Uint8Array {
  const length = body === null ? 0 : typeof body === 'string' ? Buffer.byteLength(body) : body.length
  let head = `${plain(`${method} ${path} HTTP/1.1`)}host: ${host}\r\nconnection: keep-alive\r\n`
  for (const name in headers) if (!ownHeaders.has(name)) head += plain(`${name}: ${headers[name]}`)
  if (method === 'POST') head += `content-length: ${length}\r\n`
  head += '\r\n'
  const bytes = Buffer.allocUnsafe(head.length + length)
  bytes.write(head, 'latin1')
  if (typeof body === 'string') bytes.write(body, head.length, 'utf8')
  else if (body !== null) bytes.set(body, head.length)
  return bytes
}

/** Headers that only the pool may set. */
const ownHeaders: ReadonlySet<string> = new Set(['host', 'connection', 'content-length', 'transfer-encoding'])

/** Matches a header value of visible characters, spaces and tabs, so that a value cannot add a line. */
const plainLine = /^[\t\x20-\x7e\x80-\xff]+$/

function plain(line: string): string {
  if (!plainLine.test(line)) throw new Error('a header of a call to a provider holds what no header may')
  return `${line}\r\n`
}

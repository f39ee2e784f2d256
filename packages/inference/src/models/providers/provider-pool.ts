import { validateHeaderName, validateHeaderValue } from 'node:http'
import { Readable } from 'node:stream'
import { agentShareLimits, createFairShare } from '@flotilla/foundation/intake'
import { connectorThrough } from '@flotilla/foundation/platform'
import type { CancellableConnector, TunnelProxy } from '@flotilla/foundation/platform'
import { buildConnector, Client, Pool } from 'undici'
import type { Dispatcher } from 'undici'
import { answerHandler } from './provider-answer.ts'
import type { Answering } from './provider-answer.ts'

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
/** The limit of all headers of an answer together, in bytes. */
const headMaxBytes = 16 * 1024
/** The largest body that is written at once, in bytes. */
const pieceBytes = 64 * 1024
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
   * call, and its connection if that is still being opened.
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
  const { connectMs, headersMs, bodyIdleMs, answerMs } = { ...providerTimeouts, ...timeouts }
  const connect = connectorThrough(
    { of: () => proxy },
    buildConnector({ timeout: connectMs, allowH2: false }),
  )
  const cancelOf = new WeakMap<Dispatcher.DispatchHandler, () => void>()
  const connections = new Pool(origin, {
    connect,
    factory: (at, options) => openClient(at, { options, connect, cancelOf }),
    connections: null,
    pipelining: 1,
    // While undici does not know whether a server speaks HTTP/2, it opens one connection at a time.
    allowH2: false,
    maxHeaderSize: headMaxBytes,
    headersTimeout: headersMs,
    bodyTimeout: bodyIdleMs,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    keepAliveTimeoutThreshold: keepAliveMarginMs,
  })
  const waiting: Waiting[] = []
  const handlers = new WeakMap<Answering, Dispatcher.DispatchHandler>()
  const share = createFairShare(agentShareLimits.providerConnections)
  let isClosed = false

  function assign(one: Waiting): void {
    if (!one.answering.isWanted()) return
    if (isClosed) one.answering.onError(new Error('the connections to this provider are closed'))
    else if (share.take(one.agentId, 1) === null) carry(one)
    else if (waiting.length < waitingMax) waiting.push(one)
    else
      one.answering.onError(new Error(`${waitingMax} calls already wait for a connection to this provider`))
  }

  function withdraw(answering: Answering): void {
    const at = waiting.findIndex((one) => one.answering === answering)
    if (at !== -1) waiting.splice(at, 1)
    const handler = handlers.get(answering)
    if (handler) cancelOf.get(handler)?.()
  }

  /**
   * Sends a call that its agent's share already counts, after pending events: undici lends a connection again only
   * then, and would open another one before.
   */
  function carry({ agentId, request, answering }: Waiting): void {
    const over = () => queueMicrotask(() => giveBack(agentId))
    const handler = answerHandler({ answering, answerMs, over })
    handlers.set(answering, handler)
    setImmediate(() => {
      if (answering.isWanted()) connections.dispatch(request, handler)
      else over()
    })
  }

  function giveBack(agentId: string): void {
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

  return {
    dispatch(call, answering) {
      try {
        assign({ agentId: call.agentId ?? meshShare, request: requestOf(call), answering })
      } catch (error) {
        answering.onError(error as Error)
      }
      return () => withdraw(answering)
    },
    async destroy() {
      isClosed = true
      for (const one of waiting.splice(0)) assign(one)
      await connections.destroy()
    },
  }
}

/**
 * A connection that carries one call at a time. While it is being opened, `cancelOf` has the function that cancels the
 * attempt for its call: undici itself tells nothing to a call before its connection is open.
 */
function openClient(
  origin: URL,
  parts: {
    readonly options: object
    readonly connect: CancellableConnector
    readonly cancelOf: WeakMap<Dispatcher.DispatchHandler, () => void>
  },
): Client {
  const { options, connect, cancelOf } = parts
  let cancel: (() => void) | null = null
  const client = new Client(origin, {
    ...options,
    connect: (target, callback) => {
      const done: typeof callback = (...result) => {
        cancel = null
        callback(...result)
      }
      cancel = connect(target, done)
    },
  })
  const dispatch = client.dispatch.bind(client)
  client.dispatch = (request, handler) => {
    cancelOf.set(handler, () => cancel?.())
    return dispatch(request, handler)
  }
  return client
}

interface Waiting {
  /** The agent whose share of the connections the call takes. */
  readonly agentId: string
  readonly request: Dispatcher.DispatchOptions
  readonly answering: Answering
}

/** Throws for a header that undici would refuse: it would take the connection for busy from then on. */
function requestOf({ method, path, headers: given, body }: ProviderCall): Dispatcher.DispatchOptions {
  const headers = Object.fromEntries(Object.entries(given).filter(([name]) => !ownHeaders.has(name)))
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (bytes === null || bytes.length <= pieceBytes) return { method, path, headers, body: bytes }
  headers['content-length'] = String(bytes.length)
  return { method, path, headers, body: Readable.from(inPieces(bytes)) }
}

/**
 * Yields a large body in pieces. undici then knows whether all of it has left, and closes a connection whose answer
 * ended before.
 */
function* inPieces(bytes: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

/** Headers that only the pool may set. */
const ownHeaders: ReadonlySet<string> = new Set(['host', 'connection', 'content-length', 'transfer-encoding'])

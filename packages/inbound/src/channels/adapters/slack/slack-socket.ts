import type { Socket } from 'node:net'
import type { Clock } from '@flotilla/protocol/clock'
import { Agent, buildConnector } from 'undici'
import type { SocketModeClient } from '@slack/socket-mode'
import type { Secret } from '@flotilla/egress/credentials'
import { connectorThrough } from '@flotilla/foundation/platform'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import { ChannelFailure } from '../../adapter.ts'
import type { ChannelState } from '../../adapter.ts'
import type { Fetch } from '../bounded-download.ts'
import { beginConnecting } from '../begin-connecting.ts'
import type { Connecting } from '../begin-connecting.ts'
import { createRetryPace } from '../retry-pace.ts'
import { quietClient } from './slack-calls.ts'
import { gatewayLimits } from '../gateway-packet.ts'
import { isTokenRefused, slackFailure } from './slack-failure.ts'
import { packetForClient, readSocketPacket } from './socket-packet.ts'
import type { SocketPacket } from './socket-packet.ts'

/** One envelope of Socket Mode. */
export interface SlackEnvelope {
  readonly type: string
  readonly body: unknown
  /** Acknowledges the envelope; otherwise Slack redelivers it. Has no effect after the connection has ended. */
  readonly acknowledge: () => Promise<void>
}

export interface SlackSocketDeps {
  readonly appToken: Secret
  readonly apiUrl: string
  readonly fetch: Fetch
  readonly proxies: OutboundProxies
  readonly clock: Clock
  readonly onEnvelope: (envelope: SlackEnvelope) => void
  readonly stateChanged: (state: ChannelState) => void
}

export interface SlackSocket {
  /** Resolves with Slack's first hello. Rejects if the token is rejected, or on `close`. */
  readonly start: () => Promise<void>
  readonly close: () => Promise<void>
}

/** The time limit from the request for a URL to Slack's hello, in milliseconds. */
const helloMaxMs = 20_000
/** A connection that is silent for this long is closed, in milliseconds. Slack sends pings every few seconds. */
const silenceMaxMs = 30_000
/** If the app has other connections, the mesh reconnects after this time to count them again, in milliseconds. */
export const recheckMs = 2 * 60_000
/** The time limit for closing a connection cleanly, in milliseconds. */
const goodbyeMaxMs = 1000

const tokenRepair =
  'Create an app-level token with the scope connections:write at api.slack.com/apps, Basic Information, and set it.'

/**
 * Runs a loop of Socket Mode connections. Slack's client opens each connection; the loop
 * reconnects, because the client stops reconnecting when a request for a URL fails.
 */
export function createSlackSocket(deps: SlackSocketDeps): SlackSocket {
  const ending = new AbortController()
  const pace = createRetryPace(deps.clock)
  let connecting: Connecting | null = null

  async function live(onFirst: () => void): Promise<void> {
    while (!ending.signal.aborted) {
      try {
        const connection = await connect(deps, ending.signal)
        pace.began()
        deps.stateChanged(stateAmong(connection.connections))
        onFirst()
        if (connection.connections > 1 && !(await hasEndedBy(connection, recheckMs))) {
          connection.end()
          await connection.ended
          continue
        }
        await connection.ended
        if (ending.signal.aborted) return
        deps.stateChanged({ state: 'connecting', detail: 'Slack closed the connection', repair: '' })
        await pace.afterEnd(ending.signal)
      } catch (error) {
        if (ending.signal.aborted) return
        const failure = slackFailure(error)
        if (isTokenRefused(error)) {
          deps.stateChanged({ state: 'refused', detail: failure.message, repair: tokenRepair })
          throw new ChannelFailure('refused', failure.message)
        }
        deps.stateChanged({ state: 'failing', detail: failure.message, repair: '' })
        await pace.afterFailure(ending.signal, failure.retryAfterMs ?? 0)
      }
    }
  }

  /** True if the connection ended within `ms` milliseconds. */
  async function hasEndedBy({ ended }: Connection, ms: number): Promise<boolean> {
    const over = new AbortController()
    const late = deps.clock.sleep(ms, AbortSignal.any([over.signal, ending.signal])).then(
      () => false,
      () => true,
    )
    const hasEnded = await Promise.race([ended.then(() => true), late])
    over.abort()
    return hasEnded
  }

  return {
    start: () => {
      connecting = beginConnecting('Slack', live)
      return connecting.first
    },
    close: async () => {
      ending.abort()
      await connecting?.over
    },
  }
}

interface Connection {
  readonly ended: Promise<void>
  readonly end: () => void
  /** How many connections the app had when this connection began, including this connection. */
  readonly connections: number
}

/** Returns the state. If the app has several connections, each gets only a part of the envelopes. Pure. */
function stateAmong(connections: number): ChannelState {
  if (connections <= 1) return { state: 'connected', detail: '', repair: '' }
  return {
    state: 'connected',
    detail: `Slack has ${connections} connections with this app token: another program receives some of the messages`,
    repair:
      'Stop the other program, or create a separate app for this fleet at api.slack.com/apps. The check is repeated every two minutes.',
  }
}

/** Resolves with Slack's hello. The connection ends by itself, with `signal`, or when Slack closes the connection. */
async function connect(deps: SlackSocketDeps, signal: AbortSignal): Promise<Connection> {
  const line = openLine(deps.proxies)
  const { default: slack } = await import('@slack/socket-mode')
  const over = new AbortController()
  const { logger, ...options } = quietClient(deps.fetch, AbortSignal.any([signal, over.signal]))
  const client = new slack.SocketModeClient({
    appToken: deps.appToken.reveal(),
    logger,
    autoReconnectEnabled: false,
    clientPingTimeout: silenceMaxMs,
    serverPingTimeout: silenceMaxMs,
    clientOptions: { ...options, slackApiUrl: deps.apiUrl },
    dispatcher: line.dispatcher,
  })
  const ended = new Promise<void>((resolve) => {
    client.once('disconnected', () => {
      over.abort()
      line.cut()
      resolve()
    })
  })
  let statedConnections = 1
  let hasHello = false
  guardClient(client, {
    onHello: (connections) => {
      statedConnections = connections
      hasHello = true
    },
    onEnvelope: ({ type, payload: body }, ack) => {
      if (over.signal.aborted || signal.aborted) return
      deps.onEnvelope({
        type,
        body,
        // A failed acknowledgement is ignored, because Slack redelivers the envelope.
        acknowledge: async () => {
          if (!over.signal.aborted) await ack().catch(() => {})
        },
      })
    },
    onFault: (fault) => {
      if (over.signal.aborted || signal.aborted) return
      const detail = `a packet of Slack was dropped: it ${fault}`
      deps.stateChanged({ state: hasHello ? 'connected' : 'connecting', detail, repair: '' })
    },
  })

  const end = (): void => {
    void client.disconnect()
    // Cuts the connection after a time limit, because Slack may not answer the close.
    void deps.clock.sleep(goodbyeMaxMs, over.signal).then(line.cut, () => {})
  }
  signal.addEventListener('abort', end, { once: true })
  void ended.then(() => signal.removeEventListener('abort', end))

  const late = new AbortController()
  try {
    const { connections } = await Promise.race([
      client.start().then(() => ({ connections: statedConnections })),
      deps.clock.sleep(helloMaxMs, AbortSignal.any([late.signal, over.signal])).then((): never => {
        throw new ChannelFailure('unreachable', 'Slack sent no hello in time')
      }),
    ])
    signal.throwIfAborted()
    return { ended, end, connections }
  } catch (error) {
    end()
    line.cut()
    // `error` is empty if the connection ended before the hello, because Slack's client gives no reason.
    throw (
      error ??
      line.fault() ??
      new ChannelFailure('unreachable', 'Slack closed the connection before its hello')
    )
  } finally {
    late.abort()
  }
}

type Envelope = Extract<SocketPacket, { readonly kind: 'envelope' }>

/**
 * Filters packets between the connection and Slack's client. The client sees only bounded packets
 * of a known form, with the fields for connecting and acknowledging. Without this filter a
 * malformed packet ends the process, because the client throws where no handler catches.
 */
function guardClient(
  client: SocketModeClient,
  on: {
    readonly onHello: (connections: number) => void
    readonly onEnvelope: (envelope: Envelope, ack: () => Promise<void>) => void
    readonly onFault: (fault: string) => void
  },
): void {
  const [listener, another] = client.listeners('ws_message')
  if (listener === undefined || another !== undefined)
    throw new Error('the client of Slack has an unknown form')
  let envelope: Envelope | null = null
  client.off('ws_message', listener)
  client.on('ws_message', (data: unknown) => {
    const read = readSocketPacket(data)
    if ('fault' in read) return on.onFault(read.fault)
    if (read.packet.kind === 'hello') on.onHello(read.packet.connections)
    envelope = read.packet.kind === 'envelope' ? read.packet : null
    // The client emits its event synchronously.
    listener.call(client, packetForClient(read.packet), false)
  })
  client.on('slack_event', ({ ack }: { readonly ack: () => Promise<void> }) => {
    if (envelope !== null) on.onEnvelope(envelope, ack)
  })
}

/** Returns a dispatcher that can close its sockets, because a WebSocket's socket cannot be closed in another way. */
function openLine(proxies: OutboundProxies) {
  const sockets = new Set<Socket>()
  let fault: Error | null = null
  const connectSocket = connectorThrough(proxies, buildConnector({ allowH2: false }))
  const dispatcher = new Agent({
    webSocket: { maxPayloadSize: gatewayLimits.packetMaxBytes },
    connect: (options, callback) => {
      connectSocket(options, (...[error, socket]) => {
        if (error !== null) {
          fault = error
          callback(error, null)
          return
        }
        sockets.add(socket)
        callback(null, socket)
      })
    },
  })
  return {
    dispatcher,
    /** Returns the reason why the connection failed; null if it succeeded. */
    fault: () => fault,
    cut: () => {
      for (const socket of sockets) socket.destroy()
      sockets.clear()
      void dispatcher.destroy()
    },
  }
}

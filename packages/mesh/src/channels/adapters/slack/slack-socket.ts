import type { Socket } from 'node:net'
import type { Clock } from '@flotilla/protocol/clock'
import { Agent, buildConnector } from 'undici'
import type { SocketModeClient } from '@slack/socket-mode'
import type { Secret } from '../../../credentials/index.ts'
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
  /** Tells Slack that it was taken; without it Slack sends the envelope again. Does nothing once its connection has ended. */
  readonly acknowledge: () => Promise<void>
}

export interface SlackSocketDeps {
  readonly appToken: Secret
  readonly apiUrl: string
  readonly fetch: Fetch
  readonly clock: Clock
  readonly onEnvelope: (envelope: SlackEnvelope) => void
  readonly stateChanged: (state: ChannelState) => void
}

export interface SlackSocket {
  /** Resolves with the first hello of Slack; rejects where the token is refused, or with `close`. */
  readonly start: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Between the call for an address and Slack's hello, milliseconds. */
const helloMaxMs = 20_000
/** Silence after which a connection is given up, milliseconds; Slack pings every few seconds. */
const silenceMaxMs = 30_000
/** So long a connection that is not alone is kept before the next one tells whether it is, milliseconds. */
export const recheckMs = 2 * 60_000
/** For the closing words of both sides, milliseconds; then the socket is cut. */
const goodbyeMaxMs = 1000

const tokenRepair =
  'Make an app-level token with the scope connections:write at api.slack.com/apps, Basic Information, and set it.'

/**
 * Connections of Socket Mode, one after the other, for as long as it is open. Slack's client makes each; that there is a
 * next one is decided here, since the client's own reconnecting ends for good when a call for an address fails.
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
        deps.stateChanged({ state: 'connecting', detail: 'Slack ended the connection', repair: '' })
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

  /** Whether it ended before so long was over. */
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
  /** Of the same app, this one among them, when it began. */
  readonly connections: number
}

/** Slack gives each envelope to one of an app's connections, so that two programs hear a part each. Pure. */
function stateAmong(connections: number): ChannelState {
  if (connections <= 1) return { state: 'connected', detail: '', repair: '' }
  return {
    state: 'connected',
    detail: `Slack has ${connections} connections with this app token: another program takes part of what is said`,
    repair:
      'End the other one, or make an app of its own for this fleet at api.slack.com/apps; it is looked at again every two minutes.',
  }
}

/** Resolves with Slack's hello. The connection ends by itself, with `signal`, or when Slack says so. */
async function connect(deps: SlackSocketDeps, signal: AbortSignal): Promise<Connection> {
  const line = openLine()
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
  let toldConnections = 1
  let hasHello = false
  guardClient(client, {
    onHello: (connections) => {
      toldConnections = connections
      hasHello = true
    },
    onEnvelope: ({ type, payload: body }, ack) => {
      if (over.signal.aborted || signal.aborted) return
      deps.onEnvelope({
        type,
        body,
        // Slack sends again what it was not told of: an acknowledgement that fails needs nothing else.
        acknowledge: async () => {
          if (!over.signal.aborted) await ack().catch(() => {})
        },
      })
    },
    onFault: (fault) => {
      if (over.signal.aborted || signal.aborted) return
      const detail = `Slack sent what was left out: it ${fault}`
      deps.stateChanged({ state: hasHello ? 'connected' : 'connecting', detail, repair: '' })
    },
  })

  const end = (): void => {
    void client.disconnect()
    // A peer that does not say goodbye is not waited for.
    void deps.clock.sleep(goodbyeMaxMs, over.signal).then(line.cut, () => {})
  }
  signal.addEventListener('abort', end, { once: true })
  void ended.then(() => signal.removeEventListener('abort', end))

  const late = new AbortController()
  try {
    const { connections } = await Promise.race([
      client.start().then(() => ({ connections: toldConnections })),
      deps.clock.sleep(helloMaxMs, AbortSignal.any([late.signal, over.signal])).then((): never => {
        throw new ChannelFailure('unreachable', 'Slack did not say hello in time')
      }),
    ])
    signal.throwIfAborted()
    return { ended, end, connections }
  } catch (error) {
    end()
    line.cut()
    // The client says nothing at all of a connection that ended before the hello.
    throw error ?? new ChannelFailure('unreachable', 'Slack ended the connection before its hello')
  } finally {
    late.abort()
  }
}

type Envelope = Extract<SocketPacket, { readonly kind: 'envelope' }>

/**
 * Stands between the line and Slack's client: a packet is bounded and of a known form before the client sees it, and then it
 * sees only what it connects and acknowledges by. Without this a packet of another form ends the process, since the client
 * reads it where nobody waits for what it throws.
 */
function guardClient(
  client: SocketModeClient,
  on: {
    readonly onHello: (connections: number) => void
    readonly onEnvelope: (envelope: Envelope, ack: () => Promise<void>) => void
    readonly onFault: (fault: string) => void
  },
): void {
  const [hear, another] = client.listeners('ws_message')
  if (hear === undefined || another !== undefined)
    throw new Error('the client of Slack is not of the form that is guarded')
  let envelope: Envelope | null = null
  client.off('ws_message', hear)
  client.on('ws_message', (data: unknown) => {
    const read = readSocketPacket(data)
    if ('fault' in read) return on.onFault(read.fault)
    if (read.packet.kind === 'hello') on.onHello(read.packet.connections)
    envelope = read.packet.kind === 'envelope' ? read.packet : null
    // It emits what it hears before it returns.
    hear.call(client, packetForClient(read.packet), false)
  })
  client.on('slack_event', ({ ack }: { readonly ack: () => Promise<void> }) => {
    if (envelope !== null) on.onEnvelope(envelope, ack)
  })
}

/** A way to Slack whose sockets can be cut: those of a WebSocket belong to nobody else once it is open. */
function openLine() {
  const sockets = new Set<Socket>()
  const connectSocket = buildConnector({ allowH2: false })
  const dispatcher = new Agent({
    webSocket: { maxPayloadSize: gatewayLimits.packetMaxBytes },
    connect: (options, callback) => {
      connectSocket(options, (...[error, socket]) => {
        if (error !== null) {
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
    cut: () => {
      for (const socket of sockets) socket.destroy()
      sockets.clear()
      void dispatcher.destroy()
    },
  }
}

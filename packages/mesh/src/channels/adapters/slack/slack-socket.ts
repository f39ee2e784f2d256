import type { Socket } from 'node:net'
import type { Clock } from '@flotilla/protocol/clock'
import { Agent, buildConnector } from 'undici'
import type { Secret } from '../../../credentials/index.ts'
import { ChannelFailure } from '../../adapter.ts'
import type { ChannelState } from '../../adapter.ts'
import type { Fetch } from '../bounded-download.ts'
import { beginConnecting } from '../begin-connecting.ts'
import type { Connecting } from '../begin-connecting.ts'
import { createRetryPace } from '../retry-pace.ts'
import { quietClient } from './slack-calls.ts'
import { isTokenRefused, slackFailure } from './slack-failure.ts'

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
        deps.stateChanged({ state: 'connected', detail: '', repair: '' })
        onFirst()
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
  client.on(
    'slack_event',
    ({ ack, type, body }: { ack: () => Promise<void>; type: string; body: unknown }) => {
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
  )

  const end = (): void => {
    void client.disconnect()
    // A peer that does not say goodbye is not waited for.
    void deps.clock.sleep(goodbyeMaxMs, over.signal).then(line.cut, () => {})
  }
  signal.addEventListener('abort', end, { once: true })
  void ended.then(() => signal.removeEventListener('abort', end))

  const late = new AbortController()
  try {
    await Promise.race([
      client.start(),
      deps.clock.sleep(helloMaxMs, AbortSignal.any([late.signal, over.signal])).then(() => {
        throw new ChannelFailure('unreachable', 'Slack did not say hello in time')
      }),
    ])
    signal.throwIfAborted()
    return { ended }
  } catch (error) {
    end()
    line.cut()
    // The client says nothing at all of a connection that ended before the hello.
    throw error ?? new ChannelFailure('unreachable', 'Slack ended the connection before its hello')
  } finally {
    late.abort()
  }
}

/** A way to Slack whose sockets can be cut: those of a WebSocket belong to nobody else once it is open. */
function openLine() {
  const sockets = new Set<Socket>()
  const connectSocket = buildConnector({ allowH2: false })
  const dispatcher = new Agent({
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

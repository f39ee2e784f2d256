import type { Clock } from '@flotilla/protocol/clock'
import type { Client as DiscordClient, IShardingStrategy } from 'discord.js'
import type { Secret } from '@flotilla/egress/credentials'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import { ChannelFailure } from '../../adapter.ts'
import type { ChannelState } from '../../adapter.ts'
import { rateLimited } from '../call-failure.ts'
import { beginConnecting } from '../begin-connecting.ts'
import type { Connecting } from '../begin-connecting.ts'
import { createRetryPace } from '../retry-pace.ts'
import { discordFailure, isTokenRefused } from './discord-failure.ts'
import type { DiscordRestOptions } from './discord-rest.ts'
import { restSettings } from './discord-rest.ts'
import { gatewayAddressSchema, isGateway } from './gateway-wire.ts'
import { guardShards } from './guard-shards.ts'
import { loadDiscord, openThrough } from './load-discord.ts'

export interface GatewayDeps {
  readonly token: Secret
  readonly rest: DiscordRestOptions
  readonly proxies: OutboundProxies
  readonly clock: Clock
  /** Called for every dispatch with its name, in the order in which Discord sent the dispatches. */
  readonly onDispatch: (name: HeardDispatch, data: unknown) => void
  readonly stateChanged: (state: ChannelState) => void
}

export interface DiscordGateway {
  /** Resolves once Discord has identified the bot. Rejects if the token or an intent is rejected, or on `close`. */
  readonly start: () => Promise<void>
  readonly close: () => Promise<void>
}

export const heardDispatches = [
  'READY',
  'RESUMED',
  'GUILD_CREATE',
  'THREAD_CREATE',
  'THREAD_MEMBERS_UPDATE',
  'MESSAGE_CREATE',
  'INTERACTION_CREATE',
] as const
export type HeardDispatch = (typeof heardDispatches)[number]

/** The close codes with which Discord ends a connection permanently. */
const refusals: Readonly<Record<number, { readonly detail: string; readonly repair: string }>> = {
  4004: {
    detail: 'Discord does not accept the token',
    repair: 'Reset the token at discord.com/developers/applications, Bot, and set the new one.',
  },
  4014: {
    detail: 'the bot may not read messages',
    repair:
      'Switch on Message Content Intent at discord.com/developers/applications, Bot, Privileged Gateway Intents.',
  },
}
const tokenRefused = 4004

/** The time limit for closing the connection cleanly, in milliseconds. */
const goodbyeMaxMs = 2000
/**
 * The pause between two checks whether a connection to Discord that is being opened can be destroyed, in
 * milliseconds.
 */
const pollEveryMs = 50

/**
 * The connection to the Discord gateway. discord.js identifies, sends heartbeats, resumes and reconnects. The loop in
 * this file starts a new client only if a client failed to start. A permanent refusal is reported and not retried.
 */
export function createDiscordGateway(deps: GatewayDeps): DiscordGateway {
  const ending = new AbortController()
  const pace = createRetryPace(deps.clock)
  let session: GatewaySession | null = null
  let connecting: Connecting | null = null

  async function live(onFirst: () => void): Promise<void> {
    while (!ending.signal.aborted) {
      const begun = await openSession(deps, ending.signal)
      session = begun
      try {
        await begun.login()
        onFirst()
        throw refusalOf(await Promise.race([begun.ended, rejectedWith(ending.signal)]))
      } catch (error) {
        await begun.end()
        if (ending.signal.aborted) return
        const code = begun.refusedBy() ?? (isTokenRefused(error) ? tokenRefused : null)
        if (code !== null) {
          const refusal = refusalOf(code)
          deps.stateChanged({
            state: 'refused',
            detail: refusal.message,
            repair: refusals[code]?.repair ?? '',
          })
          throw refusal
        }
        const failure = discordFailure(error)
        deps.stateChanged({ state: 'failing', detail: failure.message, repair: '' })
        await pace.afterFailure(ending.signal, failure.retryAfterMs ?? 0)
      }
    }
  }

  return {
    start: () => {
      connecting = beginConnecting('Discord', live)
      return connecting.first
    },
    close: async () => {
      ending.abort()
      await session?.end()
      await connecting?.over
    },
  }
}

/** Returns the failure for too many session starts: Discord resets a token that starts too many in a day. */
function noMoreSessions(waitMs: number): ChannelFailure {
  const detail = 'Discord allows this bot no more sessions today'
  return new ChannelFailure('rate-limited', detail, rateLimited('Discord', waitMs).retryAfterMs)
}

function refusalOf(code: number): ChannelFailure {
  const detail = refusals[code]?.detail ?? `Discord closed the connection permanently (${code})`
  return new ChannelFailure('refused', detail)
}

interface GatewaySession {
  readonly login: () => Promise<void>
  /**
   * Resolves with the close code after which discord.js does not reconnect. Rejects if a packet of Discord prevents
   * the session.
   */
  readonly ended: Promise<number>
  readonly refusedBy: () => number | null
  readonly end: () => Promise<void>
}

/** Opens one discord.js client. It only maintains the session; messages are read from packets behind the guard. */
async function openSession(deps: GatewayDeps, signal: AbortSignal): Promise<GatewaySession> {
  const discord = await loadDiscord()
  const { Client, Events, GatewayIntentBits, SimpleShardingStrategy } = discord
  const { api } = deps.rest
  const over = new AbortController()
  const isOver = () => over.signal.aborted || signal.aborted
  let refused: number | null = null
  /** True if the bot was identified on the current connection. */
  let isReady = false
  let strategy: IShardingStrategy | null = null
  let onNoSession = (): void => {}
  const client: DiscordClient = new Client({
    intents: [
      GatewayIntentBits.Guilds,
      GatewayIntentBits.GuildMessages,
      GatewayIntentBits.DirectMessages,
      GatewayIntentBits.MessageContent,
    ],
    shards: 0,
    shardCount: 1,
    rest: restSettings(deps.rest),
    ws: {
      buildStrategy: (manager) => {
        const { retrieveSessionInfo } = manager.options
        // discord.js reconnects half a second after an interruption, even if its client was
        // destroyed during that time. Without session data this attempt never connects.
        manager.options.retrieveSessionInfo = (shardId) =>
          over.signal.aborted ? new Promise<never>(() => {}) : retrieveSessionInfo(shardId)
        const fetchAddress = manager.fetchGatewayInformation.bind(manager)
        manager.fetchGatewayInformation = async (force) => {
          const address = await fetchAddress(force)
          const read = gatewayAddressSchema.safeParse(address)
          if (!read.success || !isGateway(read.data.url, api))
            throw new ChannelFailure('unsure', 'Discord returned an invalid gateway address')
          const { remaining, reset_after: resetMs } = read.data.session_start_limit
          if (remaining < 1) throw noMoreSessions(resetMs)
          return address
        }
        strategy = new SimpleShardingStrategy(manager)
        guardShards(strategy, { api, onDispatch, onFault, onNoSession: () => onNoSession() })
        return strategy
      },
    },
  })

  function onDispatch({ t, d }: { readonly t: string; readonly d?: unknown }): void {
    const name = heardDispatches.find((one) => one === t)
    if (isOver() || name === undefined) return
    deps.onDispatch(name, d)
    if (name !== 'READY' && name !== 'RESUMED') return
    isReady = true
    deps.stateChanged({ state: 'connected', detail: '', repair: '' })
  }

  function onFault(fault: string): void {
    if (isOver()) return
    deps.stateChanged({
      state: isReady ? 'connected' : 'connecting',
      detail: `a packet of Discord was dropped: it ${fault}`,
      repair: '',
    })
  }

  const ended = new Promise<number>((resolve, reject) => {
    onNoSession = () => reject(new ChannelFailure('unsure', 'Discord started a session in an unknown form'))
    client.on(Events.ShardDisconnect, ({ code }) => {
      refused = code
      resolve(code)
    })
  })
  client.on(Events.Error, () => {})
  client.on(Events.ShardError, () => {})
  client.on(Events.ShardReconnecting, () => {
    if (over.signal.aborted) return
    isReady = false
    deps.stateChanged({ state: 'connecting', detail: 'Discord closed the connection', repair: '' })
  })
  return {
    ended,
    refusedBy: () => refused,
    login: async () => {
      const isNone = ended.then((): Promise<void> => new Promise(() => {}))
      const begun = openThrough(deps.proxies, () => client.login(deps.token.reveal()))
      await Promise.race([begun, isNone, rejectedWith(signal)])
    },
    end: async () => {
      if (over.signal.aborted) return
      over.abort()
      const goodbye = new AbortController()
      await Promise.race([
        destroy().catch(() => {}),
        deps.clock.sleep(goodbyeMaxMs, goodbye.signal).catch(() => {}),
      ])
      goodbye.abort()
    },
  }

  /** Destroys the client after its socket has connected: discord.js can crash the process if it does so earlier. */
  async function destroy(): Promise<void> {
    while ((await strategy?.fetchStatus())?.first() === discord.WebSocketShardStatus.Connecting) {
      await deps.clock.sleep(pollEveryMs)
    }
    await client.destroy()
  }
}

function rejectedWith(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

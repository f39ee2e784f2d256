import type { Clock } from '@flotilla/protocol/clock'
import type { Client as DiscordClient, IShardingStrategy } from 'discord.js'
import type { Secret } from '../../../credentials/index.ts'
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
import { loadDiscord } from './load-discord.ts'

export interface GatewayDeps {
  readonly token: Secret
  readonly rest: DiscordRestOptions
  readonly clock: Clock
  /** Every dispatch by its name, in the order in which Discord sent them. */
  readonly onDispatch: (name: HeardDispatch, data: unknown) => void
  readonly stateChanged: (state: ChannelState) => void
}

export interface DiscordGateway {
  /** Resolves once Discord has told who we are; rejects where the token or an intent is refused, or with `close`. */
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

/** Why Discord ends a connection for good, by its close codes. */
const refusals: Readonly<Record<number, { readonly detail: string; readonly repair: string }>> = {
  4004: {
    detail: 'Discord does not accept the token',
    repair: 'Reset the token at discord.com/developers/applications, Bot, and set the new one.',
  },
  4014: {
    detail: 'the bot may not read what people write',
    repair:
      'Switch on Message Content Intent at discord.com/developers/applications, Bot, Privileged Gateway Intents.',
  },
}
const tokenRefused = 4004

/** For the goodbye of both sides, milliseconds; then it goes on without. */
const goodbyeMaxMs = 2000
const pollEveryMs = 50

/**
 * Discord's gateway by discord.js, which identifies, beats, resumes and reconnects by itself. It is begun again only where
 * it could not begin at all; what ends it for good is told and not tried again.
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

/** Discord resets the token of a bot that begins more sessions in a day than it may. */
function noMoreSessions(waitMs: number): ChannelFailure {
  const detail = 'Discord lets this bot begin no more sessions today'
  return new ChannelFailure('rate-limited', detail, rateLimited('Discord', waitMs).retryAfterMs)
}

function refusalOf(code: number): ChannelFailure {
  const said = refusals[code]?.detail ?? `Discord ended the connection for good (${code})`
  return new ChannelFailure('refused', said)
}

interface GatewaySession {
  readonly login: () => Promise<void>
  /** Resolves with the close code after which discord.js does not reconnect; rejects where what Discord says begins no session. */
  readonly ended: Promise<number>
  readonly refusedBy: () => number | null
  readonly end: () => Promise<void>
}

/** One client of discord.js, which keeps the session alone: what is said is read from the packets, past the guard. */
async function openSession(deps: GatewayDeps, signal: AbortSignal): Promise<GatewaySession> {
  const discord = await loadDiscord()
  const { Client, Events, GatewayIntentBits, SimpleShardingStrategy } = discord
  const { api } = deps.rest
  const over = new AbortController()
  const isOver = () => over.signal.aborted || signal.aborted
  let refused: number | null = null
  /** Whether Discord has told who we are since the line was last made. */
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
        // discord.js reconnects half a second after a break, also when it was destroyed in between. A connection that
        // never learns of its session is none.
        manager.options.retrieveSessionInfo = (shardId) =>
          over.signal.aborted ? new Promise<never>(() => {}) : retrieveSessionInfo(shardId)
        const fetchAddress = manager.fetchGatewayInformation.bind(manager)
        manager.fetchGatewayInformation = async (force) => {
          const address = await fetchAddress(force)
          const read = gatewayAddressSchema.safeParse(address)
          if (!read.success || !isGateway(read.data.url, api))
            throw new ChannelFailure('unsure', 'Discord named no gateway of its own')
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
      detail: `Discord sent what was left out: it ${fault}`,
      repair: '',
    })
  }

  const ended = new Promise<number>((resolve, reject) => {
    onNoSession = () =>
      reject(new ChannelFailure('unsure', 'Discord begins a session in a way that is not known'))
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
    deps.stateChanged({ state: 'connecting', detail: 'Discord ended the connection', repair: '' })
  })
  return {
    ended,
    refusedBy: () => refused,
    login: async () => {
      const isNone = ended.then((): Promise<void> => new Promise(() => {}))
      await Promise.race([client.login(deps.token.reveal()), isNone, rejectedWith(signal)])
    },
    end: async () => {
      if (over.signal.aborted) return
      over.abort()
      const said = new AbortController()
      await Promise.race([
        destroy().catch(() => {}),
        deps.clock.sleep(goodbyeMaxMs, said.signal).catch(() => {}),
      ])
      said.abort()
    },
  }

  /** A socket that discord.js destroys while it connects brings the process down when that fails: it is let connect first. */
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

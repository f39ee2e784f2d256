import type { Clock } from '@flotilla/protocol/clock'
import { ChannelFailure } from '../../adapter.ts'
import type { EventLanes } from '../event-lanes.ts'
import type { ChannelMarks } from '../channel-marks.ts'
import { before, isLater, latest, snowflakeAt, timeOfSnowflake } from './snowflake.ts'

/**
 * Discord's gateway has no acknowledgement. So for each channel there is a mark, the last message that stands:
 *
 * 1. A channel's mark is written before its first message is handed on, and moves only when a message stands; so whatever
 *    came after it, and was not taken or never came, is read again from the channel's history.
 * 2. A channel that is behind hands nothing on but what its history has, in order, until it has caught up.
 * 3. A channel without a mark has had no message while we listened: for it the moment counts until which we have listened,
 *    or since which we have wanted to. Discord lists no private conversations to a bot, so that one which began while nobody
 *    listened is found by its next message, and read from that moment on.
 */
export interface DiscordHistory {
  /** From now on somebody may speak to us, connected or not; whether it is the first time ever. */
  readonly starts: () => boolean
  /** A message came over the gateway. */
  readonly came: (message: HistoryMessage) => void
  /** Discord told of a channel and its last message: whatever came while nobody listened is fetched. */
  readonly seen: (channelId: string, lastMessageId: string | null) => void
  /** A new session began: private conversations are of no guild, so they are looked at by themselves. */
  readonly began: () => void
  /** Hands on nothing any more; resolves when what was under way has ended, or after a bound. */
  readonly close: () => Promise<void>
}

export interface HistoryMessage {
  readonly id: string
  readonly channelId: string
  readonly isDirect: boolean
  /** Resolves to whether it was for us, when it stands or need not stand; rejects where it could not be kept. */
  readonly take: () => Promise<boolean>
}

export interface HistoryDeps {
  readonly marks: ChannelMarks
  readonly clock: Clock
  readonly lanes: EventLanes
  /** At most `pageMax` messages after this one, the oldest first. Rejects with a `ChannelFailure`. */
  readonly fetchAfter: (
    channelId: string,
    after: string,
    signal: AbortSignal,
  ) => Promise<readonly HistoryMessage[]>
}

export const pageMax = 100
/** What is older is not read again, milliseconds. */
const readAgainMaxMs = 7 * 24 * 3_600_000
/** Messages of different channels may overtake one another by so much, milliseconds. */
const overtakenMs = 60_000
/** Discord tells of its guilds one by one, for so long at most, milliseconds. */
const guildsMaxMs = 60_000
/** Channels of which more was read than is written. */
const readMax = 5000
/** Private conversations that are looked at after a restart: those that spoke last. */
const privateMax = 200
/** Channels that catch up at one time. */
const catchingUpMax = 4
const firstPauseMs = 100
const lastPauseMs = 60_000

const listenedKey = 'discord:listened'
const privateKey = 'discord:private'
const keyOf = (channelId: string) => `discord:${channelId}`

interface Behind {
  /** Something came while its history was read. */
  isStale: boolean
}

export function createDiscordHistory({ marks, clock, lanes, fetchAfter }: HistoryDeps): DiscordHistory {
  const ending = new AbortController()
  const behind = new Map<string, Behind>()
  /** Ahead of what is written for channels where nothing was for us; an answer to nobody need not cost a row. */
  const read = new Map<string, string>()
  const waiting: (() => void)[] = []
  let catchingUp = 0
  let beganAt = 0
  let listenedBefore: string | null = null

  const markOf = (channelId: string) => latest(marks.read(keyOf(channelId)), read.get(channelId) ?? null)

  function stands(message: HistoryMessage, wasForUs: boolean): void {
    const { channelId, id } = message
    const last = markOf(channelId)
    if (last === null || isLater(id, last)) {
      if (wasForUs) marks.write(keyOf(channelId), id)
      else keepRead(channelId, id)
    }
    listenedUntil(timeOfSnowflake(id) - overtakenMs)
  }

  function keepRead(channelId: string, id: string): void {
    read.delete(channelId)
    read.set(channelId, id)
    const [oldest] = read
    if (read.size <= readMax || oldest === undefined) return
    read.delete(oldest[0])
    marks.write(keyOf(oldest[0]), oldest[1])
  }

  function listenedUntil(ms: number): void {
    // Until all guilds have been told of, those to come are judged by the moment before.
    if (clock.now() - beganAt < guildsMaxMs) return
    const last = marks.read(listenedKey)
    if (last !== null && ms - timeOfSnowflake(last) < overtakenMs) return
    marks.write(listenedKey, snowflakeAt(ms))
  }

  function rememberPrivate(channelId: string): void {
    const ids = privateOnes()
    if (ids.includes(channelId)) return
    marks.write(privateKey, [...ids, channelId].slice(-privateMax).join(' '))
  }

  const privateOnes = () => (marks.read(privateKey) ?? '').split(' ').filter((id) => /^\d{5,20}$/.test(id))

  function fallBehind(channelId: string): void {
    const already = behind.get(channelId)
    if (already) already.isStale = true
    else if (!ending.signal.aborted) {
      behind.set(channelId, { isStale: false })
      void catchUp(channelId)
    }
  }

  async function catchUp(channelId: string): Promise<void> {
    let pauseMs = firstPauseMs
    while (!ending.signal.aborted) {
      try {
        const isWhole = await inTurn(() => inLane(channelId, () => readPage(channelId)))
        if (isWhole && behind.get(channelId)?.isStale !== true) break
        pauseMs = firstPauseMs
      } catch (error) {
        const failure = error instanceof ChannelFailure ? error : null
        // Whoever shut us out of a channel has nothing to be caught up with.
        if (failure?.kind === 'gone') break
        await clock.sleep(Math.max(pauseMs, failure?.retryAfterMs ?? 0), ending.signal).catch(() => {})
        pauseMs = Math.min(lastPauseMs, pauseMs * 2)
      }
    }
    behind.delete(channelId)
  }

  /** Whether that was all. */
  async function readPage(channelId: string): Promise<boolean> {
    ending.signal.throwIfAborted()
    const state = behind.get(channelId)
    if (state) state.isStale = false
    const after = latest(markOf(channelId), snowflakeAt(clock.now() - readAgainMaxMs)) ?? '0'
    const page = await fetchAfter(channelId, after, ending.signal)
    for (const message of page) {
      ending.signal.throwIfAborted()
      stands(message, await message.take())
    }
    return page.length < pageMax
  }

  function inLane<T>(channelId: string, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const isTaken = lanes.run(channelId, () => work().then(resolve, reject))
      if (!isTaken) reject(new ChannelFailure('rate-limited', 'too much is under way'))
    })
  }

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (catchingUp >= catchingUpMax) await new Promise<void>((resolve) => void waiting.push(resolve))
    else catchingUp++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else catchingUp--
    }
  }

  return {
    came: (message) => {
      const { channelId, id } = message
      if (ending.signal.aborted) return
      if (message.isDirect) rememberPrivate(channelId)
      if (markOf(channelId) === null) {
        const isMissed = message.isDirect && listenedBefore !== null && isLater(before(id), listenedBefore)
        marks.write(keyOf(channelId), isMissed ? (listenedBefore ?? before(id)) : before(id))
        if (isMissed) fallBehind(channelId)
      }
      if (behind.has(channelId)) {
        fallBehind(channelId)
        return
      }
      const isTaken = lanes.run(channelId, async () => {
        const last = markOf(channelId)
        if (ending.signal.aborted || (last !== null && !isLater(id, last))) return
        if (behind.has(channelId)) fallBehind(channelId)
        else {
          await message.take().then(
            (wasForUs) => stands(message, wasForUs),
            () => fallBehind(channelId),
          )
        }
      })
      if (!isTaken) fallBehind(channelId)
    },
    seen: (channelId, lastMessageId) => {
      const since = markOf(channelId) ?? listenedBefore
      if (lastMessageId === null || since === null || !isLater(lastMessageId, since)) return
      if (markOf(channelId) === null) marks.write(keyOf(channelId), since)
      fallBehind(channelId)
    },
    starts: () => {
      // The first time ever: what was said before is nobody's business.
      const isFirst = marks.read(listenedKey) === null
      if (isFirst) marks.write(listenedKey, snowflakeAt(clock.now()))
      return isFirst
    },
    began: () => {
      listenedBefore = marks.read(listenedKey)
      beganAt = clock.now()
      for (const channelId of privateOnes()) fallBehind(channelId)
    },
    close: async () => {
      ending.abort()
      for (const resolve of waiting.splice(0)) resolve()
      await lanes.idle(clock)
      for (const [channelId, id] of read) marks.write(keyOf(channelId), id)
      read.clear()
    },
  }
}

import type { Clock } from '@flotilla/protocol/clock'
import { ChannelFailure } from '../../adapter.ts'
import type { EventLanes } from '../event-lanes.ts'
import type { ChannelMarks } from '../channel-marks.ts'
import { before, isLater, latest, snowflakeAt, timeOfSnowflake } from './snowflake.ts'

/**
 * Discord's gateway has no acknowledgement. Therefore each channel has a mark: its last persisted message.
 *
 * 1. A channel's mark is written before its first message is passed on, and moves only when a message was persisted.
 * Later messages that were missed or failed are read again from the history.
 * 2. A channel that is behind passes on only messages from its history, in order, until it has caught up.
 * 3. A channel without a mark had no message while the bot was connected. The global mark counts then: the time until
 * which the bot was connected, or since which it should have been. Discord does not list direct conversations to
 * bots. One that began while the bot was offline is found by its next message and read from the global mark on.
 */
export interface DiscordHistory {
  /** Called at start; from then on the history covers missed messages. Returns true at the very first start. */
  readonly starts: () => boolean
  /** Called when a message arrived over the gateway. */
  readonly came: (message: HistoryMessage) => void
  /** Called when Discord reported a channel and its last message. Fetches missed messages. */
  readonly seen: (channelId: string, lastMessageId: string | null) => void
  /** Called when a session began. Checks direct conversations separately, because they belong to no guild. */
  readonly began: () => void
  /** Stops passing on messages. Resolves when the work in progress has ended, or after a time limit. */
  readonly close: () => Promise<void>
}

export interface HistoryMessage {
  readonly id: string
  readonly channelId: string
  readonly isDirect: boolean
  /**
   * Processes the message. Resolves when it is persisted or can be dropped, with true if it was for the bot. Rejects
   * if it could not be persisted.
   */
  readonly take: () => Promise<boolean>
}

export interface HistoryDeps {
  readonly marks: ChannelMarks
  readonly clock: Clock
  readonly lanes: EventLanes
  /** Fetches at most `pageMax` messages later than `after`, oldest first. Rejects with a `ChannelFailure`. */
  readonly fetchAfter: (
    channelId: string,
    after: string,
    signal: AbortSignal,
  ) => Promise<readonly HistoryMessage[]>
}

/** The maximum number of messages in one page of Discord's history. */
export const pageMax = 100
/** The maximum age of messages that are read again from the history, in milliseconds. */
const readAgainMaxMs = 7 * 24 * 3_600_000
/** By how much messages of different channels may arrive out of order, in milliseconds. */
const overtakenMs = 60_000
/** The time in which Discord lists its guilds one by one, in milliseconds. */
const guildsMaxMs = 60_000
/** The maximum number of channels whose read position is held in memory and not yet written. */
const readMax = 5000
/** How many direct conversations, the most recent first, are checked after a restart. */
const privateMax = 200
/** How many channels catch up in parallel. */
const catchingUpMax = 4
/** The first pause before a failed read of Discord's history is repeated, in milliseconds. */
const firstPauseMs = 100
/** The longest pause before a failed read of Discord's history is repeated, in milliseconds. */
const lastPauseMs = 60_000

const listenedKey = 'discord:listened'
const privateKey = 'discord:private'
const keyOf = (channelId: string) => `discord:${channelId}`

interface Behind {
  /** True if a message arrived while the history was read. */
  isStale: boolean
}

export function createDiscordHistory({ marks, clock, lanes, fetchAfter }: HistoryDeps): DiscordHistory {
  const ending = new AbortController()
  const behind = new Map<string, Behind>()
  /** The read position by channel, for channels without messages for the bot. In memory, to save database writes. */
  const read = new Map<string, string>()
  const waiting: (() => void)[] = []
  let catchingUp = 0
  let beganAt = 0
  let listenedBefore: string | null = null

  const markOf = (channelId: string) => latest(marks.read(keyOf(channelId)), read.get(channelId) ?? null)

  function recordPersisted(message: HistoryMessage, wasForUs: boolean): void {
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
    // While Discord still lists guilds, the global mark must not move: guilds that were not listed yet need it.
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
        // The bot was removed from the channel, so its missed messages cannot be read.
        if (failure?.kind === 'gone') break
        await clock.sleep(Math.max(pauseMs, failure?.retryAfterMs ?? 0), ending.signal).catch(() => {})
        pauseMs = Math.min(lastPauseMs, pauseMs * 2)
      }
    }
    behind.delete(channelId)
  }

  /** Reads one page of the history. Resolves with true if the page was the last one. */
  async function readPage(channelId: string): Promise<boolean> {
    ending.signal.throwIfAborted()
    const state = behind.get(channelId)
    if (state) state.isStale = false
    const after = latest(markOf(channelId), snowflakeAt(clock.now() - readAgainMaxMs)) ?? '0'
    const page = await fetchAfter(channelId, after, ending.signal)
    for (const message of page) {
      ending.signal.throwIfAborted()
      recordPersisted(message, await message.take())
    }
    return page.length < pageMax
  }

  function inLane<T>(channelId: string, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const isTaken = lanes.run(channelId, () => work().then(resolve, reject))
      if (!isTaken) reject(new ChannelFailure('rate-limited', 'too many messages are in progress'))
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
            (wasForUs) => recordPersisted(message, wasForUs),
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
      // At the very first start, earlier messages are ignored.
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

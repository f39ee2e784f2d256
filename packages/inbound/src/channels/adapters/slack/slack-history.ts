import type { Clock } from '@flotilla/protocol/clock'
import { ChannelFailure } from '../../adapter.ts'
import type { PassedOver } from '../../adapter.ts'
import type { ChannelMarks } from '../channel-marks.ts'
import type { EventLanes } from '../event-lanes.ts'
import { createReadSlack, permanent } from './read-channel.ts'
import type { Wanted } from './read-channel.ts'
import type { SlackCalls } from './slack-calls.ts'
import type { HistoryMessage } from './slack-wire.ts'
import { isLater, timeOf, timestampAt } from './timestamp.ts'

/**
 * Slack redelivers an event for a few minutes only. After each connection the mesh therefore reads what was written
 * since:
 *
 * 1. One mark stores until when all messages were processed, by Slack's timestamps. It moves with processed messages,
 * and stays while a message could not be persisted or a read is incomplete. Before the first message there is no mark
 * and nothing to read.
 * 2. Conversations are read from the mark on: those in which a user wrote to the bot, and if the token may list them,
 * all that the bot is a member of. Known ids are skipped.
 * 3. Threads are read if the bot takes part in them, first, and then others that have replies after the mark.
 * 4. A read that fails for now is tried again, and the mark stays until it succeeds. What a limit or a permanent
 *    error leaves unread is reported.
 */
export interface SlackHistory {
  /** Called when a connection began. */
  readonly began: () => void
  /** Called when a message was persisted or dropped. `place` is its conversation if the message was for the bot. */
  readonly stood: (ts: string, place: SlackPlace | null) => void
  /** Called when a message could not be persisted; `ts` is null if the message has no timestamp. */
  readonly failed: (ts: string | null) => void
}

export interface SlackPlace {
  readonly channelId: string
  readonly threadTs: string | null
}

export interface SlackHistoryDeps {
  readonly marks: ChannelMarks
  readonly clock: Clock
  readonly lanes: EventLanes
  readonly calls: SlackCalls
  readonly signal: AbortSignal
  /** Processes a message of the channel like a message from an event. Resolves when it is persisted or dropped. */
  readonly take: (channelId: string, message: HistoryMessage) => Promise<void>
  readonly passedOver: (what: PassedOver) => void
}

/** The maximum age of messages that are read from the history, in milliseconds. */
const readAgainMaxMs = 7 * 24 * 3_600_000
/** By how much messages of different channels may arrive out of order, in milliseconds. */
const overtakenMs = 60_000
/**
 * The minimum interval between two reads that follow a reconnection, in milliseconds. Slack
 * redelivers the messages that shorter interruptions missed.
 */
const readAgainEveryMs = 5 * 60_000
/** By how much the mark must move before it is written, in milliseconds. */
const markEveryMs = 10_000
/** The maximum number of remembered places; the most recent places are kept. */
const placesMax = 200
/** The first pause before a failed read of Slack's history is repeated, in milliseconds. */
const firstPauseMs = 1000
/** The longest pause before a failed read of Slack's history is repeated, in milliseconds. */
const lastPauseMs = 60_000

const listenedKey = 'slack:listened'
const placesKey = 'slack:places'

export function createSlackHistory(deps: SlackHistoryDeps): SlackHistory {
  const { marks, clock, lanes, calls, signal } = deps
  const read = createReadSlack(calls, signal)
  let isBehind = false
  let isReading = false
  let beganAt = -Infinity
  let newest = '0.0'

  function readMark(): { readonly ts: string; readonly writtenAt: number } | null {
    const [ts, writtenAt] = marks.read(listenedKey)?.split(' ') ?? []
    return ts === undefined ? null : { ts, writtenAt: Number(writtenAt ?? 0) }
  }

  function writeMark(ts: string): void {
    marks.write(listenedKey, `${timestampAt(timeOf(ts) - overtakenMs)} ${clock.now()}`)
  }

  function moveMark(): void {
    const last = readMark()
    const movedMs = timeOf(newest) - overtakenMs - timeOf(last?.ts ?? '0.0')
    if (!isBehind && !isReading && (last === null || movedMs >= markEveryMs)) writeMark(newest)
  }

  const places = (): string[] => (marks.read(placesKey) ?? '').split(' ').filter((place) => place !== '')

  function remember({ channelId, threadTs }: SlackPlace): void {
    const known = places()
    const named = threadTs === null ? [channelId] : [channelId, `${channelId}/${threadTs}`]
    // A place in the newer half keeps its position in the list, so that not every message causes a write.
    const fresh = named.filter((place) => !known.slice(-placesMax / 2).includes(place))
    if (fresh.length === 0) return
    const kept = known.filter((place) => !fresh.includes(place))
    marks.write(placesKey, [...kept, ...fresh].slice(-placesMax).join(' '))
  }

  async function readAll(since: string): Promise<void> {
    const remembered = places().toReversed()
    const listed = await untilDone(read.channels)
    if (listed?.isWhole === false)
      reportUnread(
        'conversations',
        'the bot is a member of more conversations than the mesh lists; new messages in the others were not read',
      )
    const channels = new Set([
      ...remembered.map((place) => place.split('/')[0] ?? ''),
      ...(listed?.ids ?? []),
    ])
    // Direct conversations are read first, because a person waits for each reply.
    const inOrder = [...channels].toSorted((one, other) => rank(one) - rank(other))
    for (const channelId of inOrder) {
      const threads = remembered.flatMap((place) => {
        const [channel, thread] = place.split('/')
        return channel === channelId && thread !== undefined ? [thread] : []
      })
      await readUntilDone({ channelId, threads, since })
    }
  }

  async function readUntilDone(request: Wanted): Promise<void> {
    await untilDone(async () => {
      try {
        await inLane(request.channelId, () => readChannel(request))
      } catch (error) {
        if (!(error instanceof ChannelFailure) || !permanent.has(error.kind)) throw error
        if (error.kind !== 'gone')
          reportUnread(request.channelId, `new messages of the channel could not be read: ${error.message}`)
      }
    })
  }

  /** Retries with growing pauses and returns the result; null if the signal aborted. */
  async function untilDone<T>(work: () => Promise<T>): Promise<T | null> {
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(lastPauseMs, pauseMs * 2)) {
      try {
        return await work()
      } catch (error) {
        const retryAfterMs = error instanceof ChannelFailure ? error.retryAfterMs : null
        await clock.sleep(Math.max(pauseMs, retryAfterMs ?? 0), signal).catch(() => {})
      }
    }
    return null
  }

  async function readChannel(request: Wanted): Promise<void> {
    const { messages, unread } = await read.channel(request)
    for (const message of messages) {
      signal.throwIfAborted()
      await deps.take(request.channelId, message)
    }
    if (unread.length > 0) reportUnread(request.channelId, unread.join('; '))
  }

  function reportUnread(what: string, detail: string): void {
    deps.passedOver({ id: `${what}:history`, detail })
  }

  function inLane(channelId: string, work: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const isTaken = lanes.run(channelId, () => work().then(resolve, reject))
      if (!isTaken) reject(new ChannelFailure('rate-limited', 'too many messages are in progress'))
    })
  }

  async function catchUp(since: string): Promise<void> {
    isReading = true
    try {
      await readAll(since)
      if (!signal.aborted) isBehind = false
    } finally {
      isReading = false
    }
    moveMark()
  }

  return {
    began: () => {
      const now = clock.now()
      const last = readMark()
      if (last === null || isReading || signal.aborted) return
      if (!isBehind && now - beganAt < readAgainEveryMs) return
      beganAt = now
      isBehind = true
      // The earliest time to read is computed with Slack's timestamps, because the local clock may differ.
      const earliest = timestampAt(timeOf(last.ts) + now - last.writtenAt - readAgainMaxMs)
      catchUp(isLater(last.ts, earliest) ? last.ts : earliest).catch(() => {})
    },
    stood: (ts, place) => {
      if (place !== null) remember(place)
      if (isLater(ts, newest)) newest = ts
      moveMark()
    },
    failed: (ts) => {
      if (ts !== null && readMark() === null) writeMark(ts)
      isBehind = true
    },
  }
}

const rank = (channelId: string): number => (channelId.startsWith('D') ? 0 : 1)

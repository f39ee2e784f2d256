import type { Clock } from '@flotilla/protocol/clock'
import * as z from 'zod'
import { ChannelFailure } from '../../adapter.ts'
import type { ChannelFailureKind, PassedOver } from '../../adapter.ts'
import type { ChannelMarks } from '../channel-marks.ts'
import type { EventLanes } from '../event-lanes.ts'
import type { SlackCalls } from './slack-calls.ts'
import { channelListSchema, historySchema } from './slack-wire.ts'
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
 * 3. Threads are read if the bot takes part in them or they began after the mark.
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
  /** Processes a message of the channel as its event would be. Resolves when it is persisted or dropped. */
  readonly take: (channelId: string, message: HistoryMessage) => Promise<void>
  readonly passedOver: (what: PassedOver) => void
}

/** The maximum age of messages that are read from the history, in milliseconds. */
const readAgainMaxMs = 7 * 24 * 3_600_000
/** Messages of different channels may arrive out of order by this duration, in milliseconds. */
const overtakenMs = 60_000
/**
 * The minimum interval between two reads that follow a reconnection, in milliseconds. Slack redelivers what shorter
 * interruptions missed.
 */
const readAgainEveryMs = 5 * 60_000
/** The mark is written when it moves by this much, in milliseconds. */
const markEveryMs = 10_000
const pageMax = 200
/** The maximum number of pages that are read of one channel or thread. */
const pagesMax = 5
/** The maximum number of threads read per channel, and of remembered places (the most recent ones). */
const threadsMax = 50
const placesMax = 200
const firstPauseMs = 1000
const lastPauseMs = 60_000

const listenedKey = 'slack:listened'
const placesKey = 'slack:places'
/** Permanent errors: the channel is gone or the token may not read it. */
const skipped: ReadonlySet<ChannelFailureKind> = new Set(['gone', 'refused'])

export function createSlackHistory(deps: SlackHistoryDeps): SlackHistory {
  const { marks, clock, lanes, calls, signal } = deps
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
    // Recent places keep their position, so that not every message causes a write.
    const fresh = named.filter((place) => !known.slice(-placesMax / 2).includes(place))
    if (fresh.length === 0) return
    const kept = known.filter((place) => !fresh.includes(place))
    marks.write(placesKey, [...kept, ...fresh].slice(-placesMax).join(' '))
  }

  async function readAll(since: string): Promise<void> {
    const remembered = places().toReversed()
    const listed = await listChannels(calls, signal)
    const channels = new Set([...remembered.map((place) => place.split('/')[0] ?? ''), ...listed])
    // Direct conversations first, because a person waits there.
    const inOrder = [...channels].toSorted((one, other) => rank(one) - rank(other))
    for (const channelId of inOrder) {
      const threads = remembered.flatMap((place) => {
        const [channel, thread] = place.split('/')
        return channel === channelId && thread !== undefined ? [thread] : []
      })
      await readUntilDone({ channelId, threads, since })
    }
  }

  async function readUntilDone(wanted: Wanted): Promise<void> {
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(lastPauseMs, pauseMs * 2)) {
      try {
        await inLane(wanted.channelId, () => readChannel(wanted))
        return
      } catch (error) {
        const failure = error instanceof ChannelFailure ? error : null
        if (failure !== null && skipped.has(failure.kind)) return
        await clock.sleep(Math.max(pauseMs, failure?.retryAfterMs ?? 0), signal).catch(() => {})
      }
    }
  }

  async function readChannel({ channelId, threads, since }: Wanted): Promise<void> {
    const page = { channel: channelId, oldest: since, limit: pageMax }
    const top = await readPages(since, (cursor) =>
      calls.ask((client) => client.conversations.history({ ...page, ...cursor }), historySchema, signal),
    )
    if (!top.isWhole) reportUnread(channelId)
    const begun = top.messages.filter(({ reply_count: replies }) => (replies ?? 0) > 0).map(({ ts }) => ts)
    const found = new Map(top.messages.map((message) => [message.ts, message]))
    for (const ts of [...new Set([...begun, ...threads])].slice(0, threadsMax)) {
      const replies = await readPages(since, (cursor) =>
        calls.ask(
          (client) => client.conversations.replies({ ...page, ts, ...cursor }),
          historySchema,
          signal,
        ),
      ).catch((error: unknown) => {
        if (error instanceof ChannelFailure && skipped.has(error.kind)) return null
        throw error
      })
      for (const message of replies?.messages ?? []) found.set(message.ts, message)
      if (replies?.isWhole === false) reportUnread(channelId)
    }
    for (const message of [...found.values()].toSorted((one, other) =>
      isLater(one.ts, other.ts) ? 1 : -1,
    )) {
      signal.throwIfAborted()
      await deps.take(channelId, message)
    }
  }

  function reportUnread(channelId: string): void {
    const detail = `more than ${pageMax * pagesMax} messages arrived while the channel was disconnected; the oldest were not read`
    deps.passedOver({ id: `${channelId}:history`, detail })
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
      // Computed with Slack's timestamps, because the local clock may differ.
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

interface Wanted {
  readonly channelId: string
  readonly threads: readonly string[]
  readonly since: string
}

const rank = (channelId: string): number => (channelId.startsWith('D') ? 0 : 1)

interface Pages {
  readonly messages: readonly HistoryMessage[]
  /** False if the channel or thread has more new messages than were read. */
  readonly isWhole: boolean
}

async function readPages(
  since: string,
  ask: (cursor: { readonly cursor?: string }) => Promise<z.output<typeof historySchema>>,
): Promise<Pages> {
  const messages: HistoryMessage[] = []
  let cursor: { readonly cursor?: string } = {}
  for (let page = 0; page < pagesMax; page++) {
    const { messages: some, response_metadata: next } = await ask(cursor)
    const fresh = some.filter(({ ts }) => isLater(ts, since))
    for (const message of fresh) messages.push(message)
    // Histories are sorted newest first, so the first message before the mark ends the read.
    if (!next?.next_cursor || fresh.length === 0) return { messages, isWhole: true }
    cursor = { cursor: next.next_cursor }
  }
  return { messages, isWhole: false }
}

/** The conversations that the bot is a member of; empty if the token may not list them. */
async function listChannels(calls: SlackCalls, signal: AbortSignal): Promise<readonly string[]> {
  const wanted = { types: 'im,public_channel,private_channel', exclude_archived: true, limit: pageMax }
  const { channels } = await calls
    .ask((client) => client.users.conversations(wanted), channelListSchema, signal)
    .catch((error: unknown) => {
      if (error instanceof ChannelFailure) return { channels: [] }
      throw error
    })
  return channels.map(({ id }) => id)
}

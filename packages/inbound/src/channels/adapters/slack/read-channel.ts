import { ChannelFailure } from '../../adapter.ts'
import type { ChannelFailureKind } from '../../adapter.ts'
import type { SlackCalls } from './slack-calls.ts'
import { channelListSchema, historySchema } from './slack-wire.ts'
import type { HistoryMessage } from './slack-wire.ts'
import { isLater, timeOf, timestampAt } from './timestamp.ts'

/** Permanent errors: the channel is gone or the token may not read it. */
export const permanent: ReadonlySet<ChannelFailureKind> = new Set(['gone', 'refused'])

/** The maximum number of messages in one page of Slack's history. */
const pageMax = 200
/** The maximum number of pages that are read of one channel, thread or list. */
const pagesMax = 5
/** The maximum number of threads of other people that are read per channel. The bot's own threads come first. */
const threadsMax = 50
/** How long before the mark a thread may have begun to be searched for new replies, in milliseconds. */
const olderThreadMs = 7 * 24 * 3_600_000

export interface Wanted {
  readonly channelId: string
  /** The threads in which the bot takes part. */
  readonly threads: readonly string[]
  /** Messages after this timestamp are wanted. */
  readonly since: string
}

export interface ChannelRead {
  /** In order. */
  readonly messages: readonly HistoryMessage[]
  /** What could not be read, as text for owners. */
  readonly unread: readonly string[]
}

export interface ReadSlack {
  /** Reads the new messages of a channel and its threads. Rejects with a `ChannelFailure` if a read failed. */
  readonly channel: (request: Wanted) => Promise<ChannelRead>
  /**
   * Lists the conversations that the bot is a member of. Kinds that the token may not list are left
   * out; other failures reject with a `ChannelFailure`.
   */
  readonly channels: () => Promise<{ readonly ids: readonly string[]; readonly isWhole: boolean }>
}

export function createReadSlack(calls: SlackCalls, signal: AbortSignal): ReadSlack {
  const historyPages = (range: { channel: string; oldest: string; latest?: string }) =>
    readPages((cursor) =>
      calls
        .ask(
          (client) => client.conversations.history({ ...range, limit: pageMax, ...cursor }),
          historySchema,
          signal,
        )
        .then(({ messages, response_metadata: next }) => ({ items: messages, next: next?.next_cursor })),
    )

  /** Reads a thread's new replies. Slack sorts replies oldest first and always includes a thread's first message. */
  async function readThread(channelId: string, ts: string, since: string): Promise<ChannelRead> {
    const range = { channel: channelId, ts, oldest: since, limit: pageMax }
    try {
      const { items, isWhole } = await readPages((cursor) =>
        calls
          .ask((client) => client.conversations.replies({ ...range, ...cursor }), historySchema, signal)
          .then(({ messages, response_metadata: next }) => ({ items: messages, next: next?.next_cursor })),
      )
      const messages = items.filter((message) => isLater(message.ts, since))
      const detail = `more than ${pageMax * pagesMax} replies in a thread arrived while the channel was disconnected; the newest were not read`
      return { messages, unread: isWhole ? [] : [detail] }
    } catch (error) {
      if (!(error instanceof ChannelFailure) || !permanent.has(error.kind)) throw error
      const detail = `a thread could not be read: ${error.message}`
      return { messages: [], unread: error.kind === 'gone' ? [] : [detail] }
    }
  }

  /** Returns the threads that began before the mark and have a later reply, which may have mentioned the bot. */
  async function olderThreads(channelId: string, since: string): Promise<Threads> {
    const oldest = timestampAt(timeOf(since) - olderThreadMs)
    const { items, isWhole } = await historyPages({ channel: channelId, oldest, latest: since })
    const older = items.filter(({ ts }) => !isLater(ts, since))
    const replied = older.filter(
      ({ reply_count: replies, latest_reply: latest }) =>
        (replies ?? 0) > 0 && (!latest || isLater(latest, since)),
    )
    return { threads: replied.map(({ ts }) => ts), isWhole }
  }

  return {
    async channel({ channelId, threads, since }) {
      const unread: string[] = []
      const { items, isWhole } = await historyPages({ channel: channelId, oldest: since })
      const fresh = items.filter(({ ts }) => isLater(ts, since))
      if (!isWhole)
        unread.push(
          `more than ${pageMax * pagesMax} messages arrived while the channel was disconnected; the oldest were not read`,
        )
      const begun = fresh.filter(({ reply_count: replies }) => (replies ?? 0) > 0).map(({ ts }) => ts)
      const older = await olderThreads(channelId, since)
      if (!older.isWhole)
        unread.push(
          `the channel has more than ${pageMax * pagesMax} messages of the week before; older threads were not searched for new replies`,
        )
      const others = [...new Set([...begun, ...older.threads])].filter((ts) => !threads.includes(ts))
      if (others.length > threadsMax)
        unread.push(
          `${others.length} threads of other people have new replies; ${others.length - threadsMax} of them were not read`,
        )
      const found = new Map(fresh.map((message) => [message.ts, message]))
      for (const ts of [...threads, ...others.slice(0, threadsMax)]) {
        const replies = await readThread(channelId, ts, since)
        for (const message of replies.messages) found.set(message.ts, message)
        unread.push(...replies.unread)
      }
      const messages = [...found.values()].toSorted((one, other) => (isLater(one.ts, other.ts) ? 1 : -1))
      return { messages, unread: [...new Set(unread)] }
    },
    async channels() {
      const ids: string[] = []
      let isWhole = true
      // Each kind is requested separately, because Slack rejects a call if the token may not list one of its kinds.
      for (const types of ['im', 'mpim', 'public_channel', 'private_channel']) {
        const listed = await readPages((cursor) =>
          calls
            .ask(
              (client) =>
                client.users.conversations({ types, exclude_archived: true, limit: pageMax, ...cursor }),
              channelListSchema,
              signal,
            )
            .then(({ channels, response_metadata: next }) => ({ items: channels, next: next?.next_cursor })),
        ).catch((error: unknown) => {
          if (error instanceof ChannelFailure && permanent.has(error.kind))
            return { items: [], isWhole: true }
          throw error
        })
        ids.push(...listed.items.map(({ id }) => id))
        isWhole &&= listed.isWhole
      }
      return { ids, isWhole }
    },
  }
}

interface Threads {
  readonly threads: readonly string[]
  readonly isWhole: boolean
}

interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | null | undefined
}

/** Reads up to the maximum number of pages. `isWhole` is false if more pages exist. */
async function readPages<T>(
  ask: (cursor: { readonly cursor?: string }) => Promise<Page<T>>,
): Promise<{ readonly items: readonly T[]; readonly isWhole: boolean }> {
  const items: T[] = []
  let cursor: { readonly cursor?: string } = {}
  for (let page = 0; page < pagesMax; page++) {
    const { items: some, next } = await ask(cursor)
    items.push(...some)
    if (!next) return { items, isWhole: true }
    cursor = { cursor: next }
  }
  return { items, isWhole: false }
}

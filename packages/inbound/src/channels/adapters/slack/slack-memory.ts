import { ChannelFailure } from '../../adapter.ts'
import type { ChannelFailureKind } from '../../adapter.ts'
import type { SlackCalls } from './slack-calls.ts'
import { repliesSchema, userInfoSchema } from './slack-wire.ts'

/** How many names and threads are cached. Older entries are requested again. */
const rememberedMax = 2000
/** How many messages of a thread are checked for the bot's participation. */
const repliesMax = 200

const unreadable: ReadonlySet<ChannelFailureKind> = new Set(['refused', 'gone'])

export interface SlackMemory {
  /** Returns the display name of a user; the id if Slack does not return a name. Rejects only with the signal. */
  readonly nameOf: (userId: string, signal: AbortSignal) => Promise<string>
  /**
   * True if the bot wrote or was mentioned in the thread. Rejects with a `ChannelFailure` if Slack cannot be asked
   * now.
   */
  readonly isOurThread: (thread: SlackThread, signal: AbortSignal) => Promise<boolean>
  readonly joined: (thread: SlackThread) => void
}

export interface SlackThread {
  readonly channelId: string
  readonly threadTs: string
}

/** Caches answers of Slack about users and threads. `joined` records that the bot has joined a thread. */
export function createSlackMemory(calls: SlackCalls, ourUserId: string): SlackMemory {
  const names = new Map<string, string>()
  const threads = new Map<string, boolean>()
  const keyOf = ({ channelId, threadTs }: SlackThread) => `${channelId}:${threadTs}`

  return {
    nameOf: async (userId, signal) => {
      const known = names.get(userId)
      if (known !== undefined) return known
      const name = await calls
        .ask((client) => client.users.info({ user: userId }), userInfoSchema, signal)
        .then(({ user }) => user.profile?.display_name || user.real_name || user.name || userId)
        .catch(() => null)
      signal.throwIfAborted()
      if (name !== null) remember(names, userId, name)
      return name ?? userId
    },
    isOurThread: async (thread, signal) => {
      const key = keyOf(thread)
      const known = threads.get(key)
      if (known !== undefined) return known
      const { messages } = await calls
        .ask(
          (client) =>
            client.conversations.replies({
              channel: thread.channelId,
              ts: thread.threadTs,
              limit: repliesMax,
            }),
          repliesSchema,
          signal,
        )
        .catch((error: unknown) => {
          // The bot takes no part in a thread that it cannot read. Other errors are temporary and are retried.
          if (error instanceof ChannelFailure && unreadable.has(error.kind)) return { messages: [] }
          throw error
        })
      const isOurs = messages.some(({ user, text }) => user === ourUserId || text.includes(`<@${ourUserId}>`))
      remember(threads, key, isOurs)
      return isOurs
    },
    joined: (thread) => remember(threads, keyOf(thread), true),
  }
}

function remember<T>(memory: Map<string, T>, key: string, value: T): void {
  memory.delete(key)
  memory.set(key, value)
  if (memory.size <= rememberedMax) return
  const [oldest] = memory.keys()
  if (oldest !== undefined) memory.delete(oldest)
}

import type { ConversationPlace } from '../../adapter.ts'
import { channelSchema } from './discord-wire.ts'
import type { DiscordChannel } from './discord-wire.ts'
import type { DiscordRest } from './discord-rest.ts'

/** The number of cached channels. Older ones are requested again. */
const rememberedMax = 5000
const threadTypes = new Set([10, 11, 12])
const directMessage = 1

export interface KnownChannel {
  readonly place: ConversationPlace
  /** True for a thread that the bot has joined, and for a direct conversation. */
  readonly isOurs: boolean
}

export interface DiscordChannels {
  readonly learn: (channel: DiscordChannel) => void
  /** Records that a channel is a direct conversation, because a message in it came without a guild. */
  readonly learnPrivate: (channelId: string) => void
  /** The bot has joined this thread. */
  readonly joined: (channelId: string) => void
  /** Returns a channel, cached or from Discord. Rejects with a `ChannelFailure` if Discord cannot be asked now. */
  readonly find: (channelId: string, signal: AbortSignal) => Promise<KnownChannel>
}

/** Caches the kind of each channel, because a message does not say whether its channel is a thread. */
export function createDiscordChannels(rest: DiscordRest, ourUserId: () => string): DiscordChannels {
  const known = new Map<string, KnownChannel>()

  function keep(channelId: string, channel: KnownChannel): KnownChannel {
    known.delete(channelId)
    known.set(channelId, channel)
    const [oldest] = known.keys()
    if (known.size > rememberedMax && oldest !== undefined) known.delete(oldest)
    return channel
  }

  return {
    learn: (channel) => void keep(channel.id, knownChannel(channel, ourUserId())),
    learnPrivate: (channelId) =>
      void keep(channelId, knownChannel({ id: channelId, type: directMessage, member: null }, ourUserId())),
    joined: (channelId) => {
      const channel = known.get(channelId)
      if (channel && channel.place.threadId !== null) keep(channelId, { ...channel, isOurs: true })
    },
    find: async (channelId, signal) =>
      known.get(channelId) ??
      keep(
        channelId,
        knownChannel(
          await rest.ask({ method: 'get', path: `/channels/${channelId}` }, channelSchema, signal),
          ourUserId(),
        ),
      ),
  }
}

function knownChannel(channel: DiscordChannel, ourUserId: string): KnownChannel {
  if (threadTypes.has(channel.type)) {
    return {
      place: { conversationId: channel.parent_id ?? channel.id, threadId: channel.id, isPrivate: false },
      isOurs: channel.owner_id === ourUserId || (channel.member !== undefined && channel.member !== null),
    }
  }
  const isPrivate = channel.type === directMessage
  return { place: { conversationId: channel.id, threadId: null, isPrivate }, isOurs: isPrivate }
}

/** Returns the id of the channel that gets the messages of a place. On Discord a thread is a channel. Pure. */
export function channelOf(place: ConversationPlace): string {
  return place.threadId ?? place.conversationId
}

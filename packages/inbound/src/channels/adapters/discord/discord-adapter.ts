import type { Clock } from '@flotilla/protocol/clock'
import * as z from 'zod'
import type { Secret } from '@flotilla/egress/credentials'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import { ChannelFailure } from '../../adapter.ts'
import type { ChannelAdapter, ChannelListener, ChannelState, ConversationPlace } from '../../adapter.ts'
import type { Fetch } from '../bounded-download.ts'
import { createEventLanes } from '../event-lanes.ts'
import { createMemoryMarks } from '../channel-marks.ts'
import type { ChannelMarks } from '../channel-marks.ts'
import { createFetchFile } from './discord-attachment.ts'
import { channelOf, createDiscordChannels } from './discord-channels.ts'
import { createDiscordGateway } from './discord-gateway.ts'
import type { DiscordGateway, HeardDispatch } from './discord-gateway.ts'
import { createDiscordHistory, pageMax } from './discord-history.ts'
import type { HistoryMessage } from './discord-history.ts'
import { createDiscordRest } from './discord-rest.ts'
import {
  channelSchema,
  guildSchema,
  interactionSchema,
  messageHeadSchema,
  messageSchema,
  readySchema,
  threadMembersSchema,
} from './discord-wire.ts'
import { createInteractions } from './interactions.ts'
import { messageBody } from './message-body.ts'
import { isSpoken, readMessage } from './read-message.ts'
import { createSendOnce } from './send-once.ts'
import { registerCommands } from './slash-commands.ts'
import type { DiscordCommand } from './slash-commands.ts'
import { createTwinWatch } from './twin-watch.ts'

export interface DiscordOptions {
  readonly token: Secret
  readonly clock: Clock
  readonly proxies: OutboundProxies
  /** The menu of slash commands, the same in every guild. */
  readonly commands: readonly DiscordCommand[]
  /** Stores the read positions. Without marks, messages that were sent while the mesh was down are lost. */
  readonly marks?: ChannelMarks
  readonly api?: string
  readonly fetch?: Fetch
}

/** The maximum number of messages in progress. Further messages are read from the history later. */
const underWayMax = 500

/**
 * The Discord adapter, over the gateway. The gateway has no acknowledgement, so messages that were missed or not
 * persisted are read again from the channel history (`discord-history.ts`). Commands and button presses are not in
 * the history: if one cannot be persisted, its sender gets an error message.
 */
export function createDiscordAdapter(options: DiscordOptions): ChannelAdapter {
  const { token, clock, commands, marks = createMemoryMarks(), api = 'https://discord.com/api' } = options
  const fetch = options.fetch ?? globalThis.fetch
  const rest = createDiscordRest(token, { api, fetch })
  const ending = new AbortController()
  const lanes = createEventLanes(underWayMax)
  let ourUserId = ''
  const channels = createDiscordChannels(rest, () => ourUserId)
  const history = createDiscordHistory({ marks, clock, lanes, fetchAfter })
  const sendOnce = createSendOnce({ rest, marks, clock, ourUserId: () => ourUserId })
  let listener: ChannelListener | null = null
  const twins = createTwinWatch({
    clock,
    signal: ending.signal,
    ourUserId: () => ourUserId,
    mayBeOurs: sendOnce.mayBeOurs,
    stateChanged: (state) => listener?.stateChanged(state),
  })
  let gateway: DiscordGateway | null = null

  function onDispatch(name: HeardDispatch, data: unknown): void {
    switch (name) {
      case 'READY':
        return ready(data)
      case 'RESUMED':
        return
      case 'GUILD_CREATE': {
        const guild = guildSchema.safeParse(data).data
        for (const channel of [...(guild?.channels ?? []), ...(guild?.threads ?? [])]) {
          channels.learn(channel)
          history.seen(channel.id, channel.last_message_id ?? null)
        }
        return
      }
      case 'THREAD_CREATE': {
        const thread = channelSchema.safeParse(data)
        if (thread.success) channels.learn(thread.data)
        return
      }
      case 'THREAD_MEMBERS_UPDATE': {
        const thread = threadMembersSchema.safeParse(data).data
        if (thread?.added_members.some(({ user_id: id }) => id === ourUserId)) channels.joined(thread.id)
        return
      }
      case 'MESSAGE_CREATE': {
        const isDirect = typeof data === 'object' && data !== null && !('guild_id' in data)
        const message = historyMessage(data, isDirect)
        if (message && isDirect) channels.learnPrivate(message.channelId)
        if (message) history.came(message)
        twins.came(data)
        return
      }
      case 'INTERACTION_CREATE': {
        const interaction = interactionSchema.safeParse(data)
        if (!interaction.success) return
        if (!interaction.data.guild_id) channels.learnPrivate(interaction.data.channel_id)
        interactions.came(interaction.data)
      }
    }
  }

  function ready(data: unknown): void {
    const read = readySchema.safeParse(data)
    if (!read.success) return
    ourUserId = read.data.user.id
    history.began()
    void registerCommands(rest, { applicationId: read.data.application.id, commands }, ending.signal).catch(
      (error: unknown) => {
        if (ending.signal.aborted || !(error instanceof ChannelFailure)) return
        const detail = `failed to register the slash commands: ${error.message}`
        listener?.stateChanged({ state: 'connected', detail, repair: '' })
      },
    )
  }

  const interactions = createInteractions({
    rest,
    lanes,
    channels,
    signal: ending.signal,
    received: async (message) => listener?.received(message),
  })

  function historyMessage(data: unknown, isDirect: boolean): HistoryMessage | null {
    const head = messageHeadSchema.safeParse(data)
    if (!head.success) return null
    const { id, channel_id: channelId } = head.data
    const read = messageSchema.safeParse(data)
    return {
      id,
      channelId,
      isDirect,
      take: async () => {
        // A message of unknown form never becomes readable, so it must not block later ones.
        if (!read.success || !isSpoken(read.data, ourUserId)) return false
        const channel = await channels.find(channelId, ending.signal)
        const message = readMessage(read.data, {
          ourUserId,
          channel,
        })
        await listener?.received(message)
        return message.addressed
      },
    }
  }

  async function fetchAfter(channelId: string, after: string, signal: AbortSignal) {
    const query = { after, limit: String(pageMax) }
    const path = `/channels/${channelId}/messages` as const
    const page = await rest.ask({ method: 'get', path, query }, z.array(z.unknown()).max(pageMax), signal)
    return page
      .flatMap((data) => historyMessage(data, false) ?? [])
      .toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1))
  }

  const messagesOf = (place: ConversationPlace) => `/channels/${channelOf(place)}/messages` as const

  return {
    name: 'discord',
    // Discord allows five edits per channel in five seconds.
    traits: {
      messageCharsMax: 2000,
      editEveryMs: 1200,
      buttonsMax: 25,
      dropsRepeats: true,
      fileBytesMax: 10 * 1024 * 1024,
    },
    start: async (given) => {
      listener = given
      const stateChanged = (state: ChannelState) => {
        if (!ending.signal.aborted) given.stateChanged(state)
      }
      const detail = history.starts()
        ? 'direct messages that are sent before the channel is connected arrive only with the next message of their sender'
        : ''
      const repair = detail === '' ? '' : 'Send the pairing code after the channel is connected.'
      stateChanged({ state: 'connecting', detail, repair })
      gateway = createDiscordGateway({ ...options, rest: { api, fetch }, onDispatch, stateChanged })
      await gateway.start()
    },
    send: async ({ place, clientId, text, buttons, replyToId }, signal) => {
      const reply =
        replyToId !== null && /^\d+$/.test(replyToId)
          ? { message_reference: { message_id: replyToId, fail_if_not_exists: false } }
          : {}
      const body = { ...messageBody(text, buttons), ...reply }
      const sent = await sendOnce.send(
        { channelId: channelOf(place), clientId, body, looksLike: text },
        signal,
      )
      channels.joined(channelOf(place))
      return sent
    },
    edit: async ({ place, messageId, text, buttons }, signal) => {
      const path = `${messagesOf(place)}/${messageId}` as const
      await rest.ask({ method: 'patch', path, body: messageBody(text, buttons) }, z.unknown(), signal)
    },
    download: createFetchFile({ api, fetch }),
    upload: async ({ place, clientId, name, mediaType, bytes }, signal) => {
      const files = [{ name, data: Buffer.from(bytes), contentType: mediaType }]
      const body = messageBody('', [])
      return sendOnce.send({ channelId: channelOf(place), clientId, body, files, looksLike: null }, signal)
    },
    showTyping: async (place) => {
      const path = `/channels/${channelOf(place)}/typing` as const
      await rest.ask({ method: 'post', path }, z.unknown(), ending.signal).catch(() => {})
    },
    close: async () => {
      await history.close()
      ending.abort()
      await gateway?.close()
      rest.close()
    },
  }
}

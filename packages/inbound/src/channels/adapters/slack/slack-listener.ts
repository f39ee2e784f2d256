import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelListener, ReceivedMessage } from '../../adapter.ts'
import { createRecentIds } from '../../recent-ids.ts'
import type { ChannelMarks } from '../channel-marks.ts'
import type { EventLanes } from '../event-lanes.ts'
import { readEnvelope, readMoved } from './read-envelope.ts'
import type { SlackSaid, SlackSelf } from './read-envelope.ts'
import type { SlackCalls } from './slack-calls.ts'
import { createSlackHistory } from './slack-history.ts'
import type { SlackMemory } from './slack-memory.ts'
import type { SlackEnvelope } from './slack-socket.ts'
import { receivedFile } from './slack-files.ts'

/** The number of processed messages that are remembered. */
const takenMax = 2000

export interface SlackListenerDeps {
  readonly self: SlackSelf
  readonly teamId: string
  readonly known: SlackMemory
  readonly listener: ChannelListener
  readonly calls: SlackCalls
  readonly lanes: EventLanes
  readonly marks: ChannelMarks
  readonly clock: Clock
  readonly isClosing: () => boolean
  readonly signal: AbortSignal
}

/** Processes messages, from events and from the history. */
export function createSlackListener(deps: SlackListenerDeps) {
  const { self, teamId, known, listener, lanes, isClosing, signal } = deps
  // Processed ids, because messages repeat: a mention causes two events, Slack redelivers, the history overlaps.
  const taken = createRecentIds(takenMax)
  const history = createSlackHistory({
    ...deps,
    passedOver: listener.passedOver,
    take: async (channelId, message) => {
      const event = { ...message, type: 'message', channel: channelId }
      const received = readEnvelope('events_api', { team_id: teamId, event }, self)
      if (received !== null && !isClosing()) await take(received)
    },
  })

  /** Processes each message once. */
  async function take(received: SlackSaid): Promise<void> {
    if (taken.has(received.id)) return
    const message = await completeSaid(received, known, signal)
    signal.throwIfAborted()
    await listener.received(message)
    taken.add(received.id)
    if (received.at.ts === null) return
    const { conversationId: channelId, threadId: threadTs } = message.place
    history.stood(received.at.ts, message.addressed ? { channelId, threadTs } : null)
  }

  return {
    connected: history.began,
    hear: (envelope: SlackEnvelope): void => {
      if (isClosing()) return
      const moved = readMoved(envelope.type, envelope.body)
      const received = moved === null ? readEnvelope(envelope.type, envelope.body, self) : null
      if (moved !== null) listener.moved?.(moved)
      // An envelope that can be ignored or not parsed is acknowledged, because a redelivery does not help.
      if (received === null) {
        void envelope.acknowledge()
        return
      }
      const isTaken = lanes.run(received.channelId, async () => {
        if (isClosing()) return history.failed(received.at.ts)
        await take(received).catch((error: unknown) => {
          history.failed(received.at.ts)
          throw error
        })
        await envelope.acknowledge()
      })
      if (!isTaken) history.failed(received.at.ts)
    },
  }
}

/** Returns the message with what only Slack's API knows: the sender's name, and whether the bot is in the thread. */
async function completeSaid(
  received: SlackSaid,
  known: SlackMemory,
  signal: AbortSignal,
): Promise<ReceivedMessage> {
  const { channelId, isPrivate } = received
  const { threadTs, ts } = received.at
  const addressed =
    received.isForUs || (threadTs !== null && (await known.isOurThread({ channelId, threadTs }, signal)))
  // The bot's reply to a top-level message in a channel starts a thread, which is the session of that message.
  const threadId = threadTs ?? (addressed && !isPrivate ? ts : null)
  if (addressed && threadId !== null) known.joined({ channelId, threadTs: threadId })
  return {
    id: received.id,
    senderId: `${received.teamId}:${received.userId}`,
    senderName: received.userName || (await known.nameOf(received.userId, signal)),
    place: { conversationId: channelId, threadId, isPrivate },
    text: received.text,
    pressed: received.pressed,
    addressed,
    attachments: received.files.map(receivedFile),
    ...(received.shared === null
      ? {}
      : { forwarded: { ...received.shared, attachments: received.shared.files.map(receivedFile) } }),
  }
}

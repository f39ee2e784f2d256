import type { ReceivedMessage } from '../../adapter.ts'
import type { SlackSaid } from './read-envelope.ts'
import { receivedFile } from './slack-files.ts'
import type { SlackMemory } from './slack-memory.ts'

/** Returns the message with what only Slack's API knows: the sender's name, and whether the bot is in the thread. */
export async function completeSaid(
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

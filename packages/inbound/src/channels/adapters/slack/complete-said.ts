import type { ReceivedMessage } from '../../adapter.ts'
import type { SlackSaid } from './read-envelope.ts'
import { receivedFile } from './slack-files.ts'
import type { SlackMemory } from './slack-memory.ts'

/** Returns the message with what only Slack's API knows: the sender's name, and whether the bot is in the thread. */
export async function completeSaid(
  said: SlackSaid,
  known: SlackMemory,
  signal: AbortSignal,
): Promise<ReceivedMessage> {
  const { channelId, isPrivate } = said
  const { threadTs, ts } = said.at
  const addressed =
    said.isForUs || (threadTs !== null && (await known.isOurThread({ channelId, threadTs }, signal)))
  // The bot's reply to a top-level message in a channel starts a thread, which is the session of that message.
  const threadId = threadTs ?? (addressed && !isPrivate ? ts : null)
  if (addressed && threadId !== null) known.joined({ channelId, threadTs: threadId })
  return {
    id: said.id,
    senderId: `${said.teamId}:${said.userId}`,
    senderName: said.userName || (await known.nameOf(said.userId, signal)),
    place: { conversationId: channelId, threadId, isPrivate },
    text: said.text,
    pressed: said.pressed,
    addressed,
    attachments: said.files.map(receivedFile),
    ...(said.shared === null
      ? {}
      : { forwarded: { ...said.shared, attachments: said.shared.files.map(receivedFile) } }),
  }
}

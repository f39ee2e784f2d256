import type { ReceivedMessage } from '../../adapter.ts'
import type { SlackSaid } from './read-envelope.ts'
import { receivedFile } from './slack-files.ts'
import type { SlackMemory } from './slack-memory.ts'

/** What was said with what Slack has to be asked for: the sender's name, and whether a thread is ours. */
export async function completeSaid(
  said: SlackSaid,
  known: SlackMemory,
  signal: AbortSignal,
): Promise<ReceivedMessage> {
  const { channelId, isPrivate } = said
  const { threadTs, ts } = said.at
  const addressed =
    said.isForUs || (threadTs !== null && (await known.isOurThread({ channelId, threadTs }, signal)))
  // Our answer to words at the top of a channel begins a thread, which is their session.
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

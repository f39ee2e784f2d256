import type { ChannelAdapter } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import type { SplitChannelText } from '../text/index.ts'
import type { Letter } from '../messages/letter-table.ts'
import type { SentFile } from '../messages/run-files.ts'

/** One message of a letter: text, the whole answer as a file, or an artifact of the agent. */
export type LetterPart =
  | { readonly kind: 'words'; readonly text: string }
  | { readonly kind: 'answer' }
  | { readonly kind: 'artifact'; readonly file: SentFile }

/**
 * Splits a letter into messages. The result is deterministic, so that sending resumes at the right message after a
 * crash. Each message of an agent starts with the agent's name, so that an agent cannot impersonate another.
 */
export async function partsOf(
  split: SplitChannelText,
  { name: channel, traits, upload }: ChannelAdapter,
  { agentId, text, files }: Letter,
): Promise<readonly LetterPart[]> {
  const lead = agentId === null ? '' : leadOf(agentId)
  const format = agentId === null ? 'plain' : 'markdown'
  const { pieces, wasCut } = await split({ channel, text, format, lead })
  const notice = 'The answer has no visible text.'
  const read =
    pieces.length > 0 ? pieces : (await split({ channel, text: notice, format: 'plain', lead })).pieces
  const isLong = wasCut || pieces.length > channelLimits.answerMessagesMax
  const takesFiles = upload !== undefined && traits.fileBytesMax > 0
  return [
    ...read.map((piece) => ({ kind: 'words', text: piece }) as const),
    ...(isLong && takesFiles ? [{ kind: 'answer' } as const] : []),
    ...files.map((file) => ({ kind: 'artifact', file }) as const),
  ]
}

export function leadOf(agentId: string): string {
  return `[${agentId}]`
}

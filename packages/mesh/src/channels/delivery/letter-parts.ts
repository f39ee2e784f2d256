import type { ChannelAdapter } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import type { SplitChannelText } from '../text/index.ts'
import type { Letter } from './letter-table.ts'
import type { SentFile } from './run-files.ts'

/** One message of a letter: words, the whole answer as a file, or a file that the agent made. */
export type LetterPart =
  | { readonly kind: 'words'; readonly text: string }
  | { readonly kind: 'answer' }
  | { readonly kind: 'artifact'; readonly file: SentFile }

/**
 * What a letter is sent as, in this order; the same whenever it is asked, so that a mesh which died goes on where it was.
 * What an agent says has its name before every piece, so that no piece can pass for another's.
 */
export async function partsOf(
  split: SplitChannelText,
  { name: channel, traits, upload }: ChannelAdapter,
  { agentId, text, files }: Letter,
): Promise<readonly LetterPart[]> {
  const lead = agentId === null ? '' : leadOf(agentId)
  const format = agentId === null ? 'plain' : 'markdown'
  const { pieces, wasCut } = await split({ channel, text, format, lead })
  const said = 'It said nothing that could be read.'
  const read =
    pieces.length > 0 ? pieces : (await split({ channel, text: said, format: 'plain', lead })).pieces
  const isLong = wasCut || pieces.length > channelLimits.answerMessagesMax
  const takesFiles = upload !== undefined && traits.fileBytesMax > 0
  return [
    ...read.map((piece) => ({ kind: 'words', text: piece }) as const),
    ...(isLong && takesFiles ? [{ kind: 'answer' } as const] : []),
    ...files.map((file) => ({ kind: 'artifact', file }) as const),
  ]
}

/** Pure. */
export function leadOf(agentId: string): string {
  return `[${agentId}]`
}

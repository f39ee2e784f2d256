import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { findToolName } from '@flotilla/protocol/findable-tools'
import type { PromptMessage } from '../llm/language-model.ts'
import { madeCall } from '../tools/made-call.ts'
import { estimateMessage } from './estimate-tokens.ts'
import { linesInTranscript } from './render-transcript.ts'
import type { TranscriptLines } from './render-transcript.ts'

/** The newest results stay whole. */
const newestKept = 4
/** A shorter result stays whole. */
const clearedMinChars = 2000
/** The beginning of a cleared result that stays in the conversation. */
const shownChars = 400

const clearedMark = '[Cut to save space. The whole result is in '

type ToolMessage = Extract<PromptMessage, { role: 'tool' }>

/** The old and long results of a conversation, which can be cut before anything is summarized. Pure. */
export function clearableResults(messages: readonly PromptMessage[]): readonly ToolMessage[] {
  const finds = new Set(
    messages.flatMap((message) =>
      message.role === 'assistant'
        ? message.toolCalls.filter((call) => madeCall(call).name === findToolName).map(({ id }) => id)
        : [],
    ),
  )
  return messages
    .filter((message): message is ToolMessage => message.role === 'tool')
    .slice(0, -newestKept)
    .filter(
      ({ content, toolCallId }) =>
        content.length >= clearedMinChars && !content.startsWith(clearedMark) && !finds.has(toolCallId),
    )
}

/** Tokens that clearing these results saves, by the rough count. Pure. */
export function savedByClearing(results: readonly ToolMessage[]): number {
  return results.reduce(
    (sum, result) =>
      sum + estimateMessage(result) - estimateMessage(cleared(result, '', { offset: 0, limit: 0 })),
    0,
  )
}

/**
 * Returns the conversation with these results cut. Each names the file and the lines of its whole text in the
 * transcript of `results`. Pure.
 */
export function withoutResults(
  messages: readonly PromptMessage[],
  results: readonly ToolMessage[],
  keptIn: string,
): PromptMessage[] {
  const lines = linesInTranscript(results)
  const places = new Map<PromptMessage, TranscriptLines>(
    results.flatMap((result, at) => {
      const place = lines[at]
      return place === undefined ? [] : [[result, place]]
    }),
  )
  return messages.map((message) => {
    const place = places.get(message)
    return message.role === 'tool' && place !== undefined ? cleared(message, keptIn, place) : message
  })
}

function cleared(result: ToolMessage, keptIn: string, { offset, limit }: TranscriptLines): ToolMessage {
  const beginning = truncatePromptText(result.content, shownChars, ' …')
  const handle = `read_file, offset ${offset}, limit ${limit}`
  return { ...result, content: sanitizeForPrompt(`${clearedMark}${keptIn} (${handle}).]\n${beginning}`) }
}

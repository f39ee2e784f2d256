import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { findToolName } from '@flotilla/protocol/findable-tools'
import type { PromptMessage } from '../llm/language-model.ts'
import { madeCall } from '../tools/made-call.ts'
import { estimateMessage } from './estimate-tokens.ts'

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
    (sum, result) => sum + estimateMessage(result) - estimateMessage(cleared(result, '')),
    0,
  )
}

/** The conversation with these results cut; each names the file that holds the whole text. Pure. */
export function withoutResults(
  messages: readonly PromptMessage[],
  results: readonly ToolMessage[],
  keptIn: string,
): PromptMessage[] {
  const gone = new Set<PromptMessage>(results)
  return messages.map((message) =>
    message.role === 'tool' && gone.has(message) ? cleared(message, keptIn) : message,
  )
}

function cleared(result: ToolMessage, keptIn: string): ToolMessage {
  const beginning = truncatePromptText(result.content, shownChars, ' …')
  return { ...result, content: sanitizeForPrompt(`${clearedMark}${keptIn} (read_file).]\n${beginning}`) }
}

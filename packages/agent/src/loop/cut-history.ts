import type { PromptMessage } from '../llm/language-model.ts'

const historyMessagesMax = 200
const historyMaxChars = 300_000

/**
 * The latest part of a conversation that fits the bounds, beginning with a message of the user: so a call and
 * its result are kept or dropped together. Pure.
 */
export function cutHistory(messages: readonly PromptMessage[]): readonly PromptMessage[] {
  let chars = 0
  let from = messages.length
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index]! // the index runs over the list
    chars += message.content.length
    if (message.role === 'assistant') {
      chars += message.toolCalls.reduce((sum, call) => sum + call.arguments.length, 0)
    }
    if (messages.length - index > historyMessagesMax || chars > historyMaxChars) break
    if (message.role === 'user') from = index
  }
  return messages.slice(from)
}

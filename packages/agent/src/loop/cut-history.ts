import type { PromptMessage } from '../llm/language-model.ts'

const historyMessagesMax = 200
const historyMaxChars = 300_000

/**
 * The latest part of a conversation that fits the bounds, beginning with a message of the user: so a call and
 * its result are kept or dropped together. With `keepFirst` what the conversation began with stays, as the words of
 * a task must. Pure.
 */
export function cutHistory(messages: readonly PromptMessage[], keepFirst = false): readonly PromptMessage[] {
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
  const [first] = messages
  return keepFirst && first && from > 0 ? [first, ...messages.slice(from)] : messages.slice(from)
}

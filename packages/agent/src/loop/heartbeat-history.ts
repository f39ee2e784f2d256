import type { PromptMessage } from '../llm/language-model.ts'

/** Characters of earlier heartbeats that are shown: enough to know what was already reported. */
const historyMaxChars = 12_000

/**
 * Pure. Returns the whole conversation if it fits, else the newest part within half of the limit, or within the whole limit if the last turn is longer: if the beginning
 * moved with each heartbeat, no heartbeat would find its prompt in the provider's cache. The part begins with a user
 * message, so that no result is without its call.
 */
export function recentMessages(
  messages: readonly PromptMessage[],
  maxChars: number = historyMaxChars,
): PromptMessage[] {
  const chars = messages.reduce((sum, message) => sum + sizeOf(message), 0)
  if (chars <= maxChars) return newestWithin(messages, maxChars)
  const half = newestWithin(messages, maxChars / 2)
  return half.length > 0 ? half : newestWithin(messages, maxChars)
}

/** Returns the newest messages that fit, from a user message on. */
function newestWithin(messages: readonly PromptMessage[], maxChars: number): PromptMessage[] {
  let room = maxChars
  let start = messages.length
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index]
    if (!message) break
    room -= sizeOf(message)
    if (room < 0) break
    if (message.role === 'user') start = index
  }
  return messages.slice(start)
}

function sizeOf(message: PromptMessage): number {
  const calls = message.role === 'assistant' ? message.toolCalls : []
  return (
    message.content.length + calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0)
  )
}

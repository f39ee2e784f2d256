import { joinPromptText, sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { charsOfThought } from '@flotilla/protocol/thoughts'
import { withoutImages } from '../images/bound-images.ts'
import type { PromptMessage, RequestedCall } from '../llm/language-model.ts'
import { cutMiddle } from '../tools/cut-middle.ts'

/** Longest text of a message; the values are tried in order until the conversation fits. */
const textMaxChars = [16_000, 8000, 4000, 2000, 1000, 500] as const

export interface Shortened {
  readonly messages: readonly PromptMessage[]
  /** The original messages that became shorter. */
  readonly before: readonly PromptMessage[]
}

/**
 * The last resort when no whole group can be removed. Pictures are removed; then long texts lose their
 * middle, results before messages and older ones before newer ones, and say where it is stored. No message is
 * removed and none loses its calls. Pure.
 */
export function shortenMessages(
  messages: readonly PromptMessage[],
  rule: {
    readonly room: number
    readonly sizeOf: (message: PromptMessage) => number
    readonly keptIn: string
  },
): Shortened {
  const shortened = [...messages]
  let excess = messages.reduce((sum, message) => sum + rule.sizeOf(message), 0) - rule.room
  const order = [...messages.keys()].sort(
    (a, b) => Number(messages[a]?.role !== 'tool') - Number(messages[b]?.role !== 'tool') || a - b,
  )
  const replace = (index: number, shorten: (message: PromptMessage) => PromptMessage): void => {
    const message = shortened[index]! // the index runs over the list
    const shorter = shorten(message)
    const saved = rule.sizeOf(message) - rule.sizeOf(shorter)
    if (saved <= 0) return
    shortened[index] = shorter
    excess -= saved
  }
  for (const index of messages.keys()) if (excess > 0) replace(index, withoutImages)
  for (const maxChars of textMaxChars) {
    for (const index of order) {
      if (excess <= 0) break
      replace(index, (message) => shortenMessage(message, maxChars, rule.keptIn))
    }
  }
  return { messages: shortened, before: messages.filter((message, index) => shortened[index] !== message) }
}

function shortenMessage(message: PromptMessage, maxChars: number, keptIn: string): PromptMessage {
  const content =
    message.content.length <= maxChars
      ? message.content
      : joinPromptText(
          [
            sanitizeForPrompt(`[shortened to save space; full text in ${keptIn}]`),
            cutMiddle(message.content, maxChars - 100),
          ],
          '\n',
        )
  if (message.role !== 'assistant') return { ...message, content }
  const { thoughts = [], ...rest } = message
  const thoughtChars = thoughts.reduce((sum, thought) => sum + charsOfThought(thought), 0)
  return {
    ...rest,
    // Content that a provider has signed must stay whole or be removed.
    ...(thoughts.length > 0 && thoughtChars <= maxChars ? { thoughts } : {}),
    content,
    toolCalls: message.toolCalls.map((call) => shortenCall(call, maxChars)),
  }
}

/** Providers require an object, so its strings are cut and not the JSON text. */
function shortenCall(call: RequestedCall, maxChars: number): RequestedCall {
  if (call.arguments.length <= maxChars) return call
  return { ...call, arguments: shortenJson(call.arguments, maxChars) }
}

function shortenJson(text: string, maxChars: number): string {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      const entries = Object.entries(value)
      const each = Math.max(50, Math.floor(maxChars / Math.max(1, entries.length)))
      const cut = JSON.stringify(
        Object.fromEntries(entries.map(([name, item]) => [name, shortenValue(item, each)])),
      )
      if (cut.length < text.length) return cut
    }
  } catch {
    // Invalid JSON has no strings to cut.
  }
  return '{}'
}

function shortenValue(value: unknown, maxChars: number): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length <= maxChars ? value : cutMiddle(sanitizeForPrompt(text), maxChars)
}

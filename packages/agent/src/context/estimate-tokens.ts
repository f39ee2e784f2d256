import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import type { PromptMessage } from '../llm/language-model.ts'

/** Tokens counted for one picture, however many bytes it has. */
export const imageTokens = 1600
/** Average UTF-8 bytes of one token where no tokenizer is available. */
const bytesPerToken = 3.5
/** Tokens for role, separators and names of a message. */
const messageTokens = 4

/** Pure. Bytes of everything in the message that a model reads as text; the bytes of pictures do not count. */
export function textBytes(message: PromptMessage): number {
  return textsOf(message).reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

/** Pure. */
export function textsOf(message: PromptMessage): readonly string[] {
  if (message.role !== 'assistant') return [message.content]
  const thoughts = (message.thoughts ?? []).flatMap((thought) => Object.values(thought).map(String))
  return [message.content, ...message.toolCalls.flatMap((call) => [call.name, call.arguments]), ...thoughts]
}

/** Pure. */
export function estimateMessage(message: PromptMessage): number {
  return Math.ceil(textBytes(message) / bytesPerToken) + messageTokens + imagesIn(message) * imageTokens
}

/** Returns the tokens of a request's instructions and tool schemas, by the rough count. Pure. */
export function estimateFrame(systemPrompt: string, tools: readonly ToolDefinition[]): number {
  const toolBytes = tools.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(tools))
  return Math.ceil((Buffer.byteLength(systemPrompt) + toolBytes) / bytesPerToken) + messageTokens
}

/** Pure. Number of pictures in a message. */
export function imagesIn(message: PromptMessage): number {
  return message.role === 'tool' ? (message.images?.length ?? 0) : 0
}

/** Pure. Whether the bundled tokenizer is the model's own. */
export function hasOurTokenizer(model: string): boolean {
  const name = model.slice(model.lastIndexOf('/') + 1)
  return /^(?:gpt-|chatgpt-|o[1-9](?:-|$))/.test(name)
}

import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'

/** The models that OpenAI serves by its Responses API alone, as their pages state. */
const onlyResponses =
  /^(?:gpt-\d[\w.]*-pro|o\d+-pro|(?:[\w.-]+-)?codex|o\d+(?:-mini)?-deep-research|computer-use)(?:-|$)/
const reasoning =
  /^(?:o\d+|gpt-(?:[5-9]|\d\d)(?:\.\d+)?)(?:-|$)(?![\w.-]*(?:chat|search|audio|realtime|image))/

/** Pure. */
export function hasOnlyResponses(model: string): boolean {
  return onlyResponses.test(model)
}

/** Whether a model of OpenAI thinks before it answers. Pure. */
export function isReasoningModel(model: string): boolean {
  return reasoning.test(model) || hasOnlyResponses(model)
}

/** The lowest bound on an answer that the Responses API accepts, tokens. */
const boundMinTokens = 16

const never = ['logprobs', 'logit_bias', 'stop', 'seed', 'audio', 'prediction'] as const
const numbers = ['presence_penalty', 'frequency_penalty', 'top_logprobs'] as const

/** Returns the first member of a chat completion that the Responses API cannot carry; null without one. Pure. */
export function missingInResponses(chat: JsonObject): string | null {
  const named = never.find((name) => isSet(chat[name]))
  if (named !== undefined) return named
  const number = numbers.find((name) => isSet(chat[name]) && chat[name] !== 0)
  if (number !== undefined) return number
  if (typeof chat['n'] === 'number' && chat['n'] > 1) return 'n'
  const bound = chat['max_completion_tokens'] ?? chat['max_tokens']
  if (typeof bound === 'number' && bound < boundMinTokens) return 'max_completion_tokens'
  const { tools, messages } = chat
  const isFunction = (tool: JsonValue) => isJsonObject(tool) && tool['type'] === 'function'
  if (Array.isArray(tools) && !tools.every(isFunction)) return 'tools'
  return Array.isArray(messages) && messages.some(hasSound) ? 'messages' : null
}

/** Whether a value asks for anything: clients also write what they do not want. */
function isSet(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === '') return false
  return !Array.isArray(value) || value.length > 0
}

function hasSound(message: JsonValue): boolean {
  const content = isJsonObject(message) ? message['content'] : null
  return (
    Array.isArray(content) && content.some((part) => isJsonObject(part) && part['type'] === 'input_audio')
  )
}

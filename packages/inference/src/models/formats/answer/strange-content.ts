import { isRecord } from '../empty-answer.ts'
import type { WrittenUsage } from './written-usage.ts'

/** Members of a choice that have no content. */
const silentMembers =
  /^(?:index|delta|message|text|logprobs|seed|usage|error|.*(?:reason|finish|stop|filter).*)$/i

/** Describes a choice whose content has an unknown name; null if it has none. */
export function strangeChoice(value: WrittenUsage): string | null {
  const choice: unknown = Array.isArray(value['choices']) ? value['choices'][0] : null
  if (!isRecord(choice) || Object.keys(choice).every((name) => silentMembers.test(name))) return null
  return `a choice of ${namesOf(choice)}`
}

/** Members of a message that have no content, or whose content the reader knows. */
const silentInMessage =
  /^(?:role|name|id|index|type|object|prefix|channel|recipient|content|refusal|thought|thoughts|audio|function_call|tool_calls|extra_content|end_turn|.*(?:reason|think|annotation|citation|metadata|logprob|filter|finish|stop|usage|token|signature|opaque|encrypted|fields|status|error).*)$/i

/** Describes a message whose only content has an unknown name; null if it has none. */
export function strangeMessage(message: Readonly<Record<string, unknown>>): string | null {
  const names = Object.entries(message)
    .filter(([name, value]) => !silentInMessage.test(name) && (isRecord(value) || isFilledText(value)))
    .map(([name]) => name)
  return names.length === 0 ? null : `a message of ${names.slice(0, 8).join(', ').slice(0, 100)}`
}

function isFilledText(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : typeof value === 'string' && value.trim() !== ''
}

/** Members of answers of other APIs: Anthropic, Google, the Responses API, Ollama's `generate`, TGI. */
const foreignMembers = ['object', 'type', 'content', 'candidates', 'output', 'response', 'generated_text']

/** Whether the object belongs to another API, whose answers also have a usage. */
export function isForeign(value: WrittenUsage): boolean {
  return value['choices'] === undefined && foreignMembers.some((name) => value[name] !== undefined)
}

export function namesOf(value: Readonly<Record<string, unknown>>): string {
  return Object.keys(value).slice(0, 8).join(', ').slice(0, 100)
}

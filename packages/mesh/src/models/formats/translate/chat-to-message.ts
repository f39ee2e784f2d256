import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { parseFirst, readJsonQuietly } from '../../../intake/index.ts'
import type { UsageRule } from '../usage.ts'
import { chatAnswerSchema, messagesUsage, plainReasoning, stopReasonFrom, textIn } from './chat-answer.ts'
import { blockFromReasoning, readReasoningDetails } from './reasoning-details.ts'

/** A whole answer of chat completions as a message. Throws the Problem `upstream-failed` for what is none. Pure. */
export function messageFromChat(answer: unknown, model: string, rule: UsageRule = {}): JsonObject {
  const parsed = parseFirst(chatAnswerSchema, answer)
  const choice = parsed.success ? parsed.data.choices[0] : undefined
  const said = choice?.message
  if (!parsed.success || !choice || !said) {
    throw new Problem('upstream-failed', { detail: 'the answer of the model is no chat completion' })
  }
  const details = readReasoningDetails(said.reasoning_details)
  const thought = plainReasoning(said)
  const text = textIn(said.content)
  const content: JsonObject[] = []
  if (details.length > 0) content.push(...details.map(blockFromReasoning))
  else if (thought !== '') content.push({ type: 'thinking', thinking: thought, signature: '' })
  if (text !== '') content.push({ type: 'text', text })
  if (said.refusal) content.push({ type: 'text', text: said.refusal })
  for (const [index, call] of (said.tool_calls ?? []).entries()) {
    content.push({
      type: 'tool_use',
      id: call.id ?? `toolu_${index}`,
      name: call.function?.name ?? '',
      input: inputFrom(call.function?.arguments ?? ''),
    })
  }
  const refused = said.refusal ? 'refusal' : null
  return {
    id: parsed.data.id ?? 'msg',
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: refused ?? stopReasonFrom(choice.finish_reason ?? null),
    stop_sequence: null,
    usage: messagesUsage(parsed.data.usage, rule),
  }
}

/** A message has room for an object alone; what a model wrote instead is handed on under a name that says so. */
function inputFrom(text: string): JsonValue {
  if (text.trim() === '') return {}
  const value = readJsonQuietly(text, jsonLimits.modelAnswer)
  return isJsonObject(value) ? value : { invalid_json: text }
}

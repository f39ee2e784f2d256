import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'

const opening = '[The conversation goes on.]'
const goOn = '[Go on.]'

/**
 * Orders messages for strict providers: instructions first, then user and assistant alternating, and a user message
 * or a result at the end.
 *
 * - A later instruction becomes a user message marked as an instruction; an empty one is dropped.
 * - Consecutive messages of one role become one.
 * - A conversation that begins or ends with an answer gets a user message there.
 *
 * Returns the same list if nothing changes. Pure.
 */
export function fitTurns(messages: JsonValue[], joinsParts = false): JsonValue[] {
  const fitted: JsonValue[] = []
  const lastRole = () => roleOf(fitted.at(-1))
  for (const message of messages) {
    const inOrder = instructionInOrder(
      message,
      fitted.every((one) => roleOf(one) === 'system'),
    )
    if (inOrder === null) continue
    const role = roleOf(inOrder)
    const isFirst = lastRole() === null || lastRole() === 'system'
    if (role === 'assistant' && isFirst) fitted.push({ role: 'user', content: opening })
    const joined = joinedWith(fitted.at(-1), inOrder, joinsParts)
    if (joined === null) fitted.push(inOrder)
    else fitted[fitted.length - 1] = joined
  }
  const last = fitted.at(-1)
  // The model is meant to continue a prefix, so no user message follows it.
  const isPrefix = isJsonObject(last) && (last['prefix'] === true || last['partial'] === true)
  if (lastRole() === 'assistant' && !isPrefix) fitted.push({ role: 'user', content: goOn })
  const isSame = fitted.length === messages.length && fitted.every((one, at) => one === messages[at])
  return isSame ? messages : fitted
}

function roleOf(message: JsonValue | undefined): JsonValue {
  return isJsonObject(message) ? (message['role'] ?? null) : null
}

/** Moves a later instruction into a user message; null for an instruction without words. */
function instructionInOrder(message: JsonValue, isBeginning: boolean): JsonValue | null {
  if (!isJsonObject(message)) return message
  const { role, content } = message
  if (role !== 'system' && role !== 'developer') return message
  const hasWords = typeof content === 'string' ? content.trim() !== '' : partsOf(content).length > 0
  if (!hasWords || content === undefined) return null
  if (isBeginning) return role === 'system' ? message : { ...message, role: 'system' }
  const mark = '[Instruction of the system] '
  return {
    role: 'user',
    content:
      typeof content === 'string' ? mark + content : [{ type: 'text', text: mark }, ...partsOf(content)],
  }
}

/** Joins two messages into one; null if they must stay separate. */
function joinedWith(before: JsonValue | undefined, next: JsonValue, joinsParts: boolean): JsonObject | null {
  if (!isJsonObject(before) || !isJsonObject(next) || before['role'] !== next['role']) return null
  const { role } = next
  // An answer with calls must be followed by their results, so it is not joined.
  const isOpen =
    role === 'user' || role === 'system' || (role === 'assistant' && before['tool_calls'] === undefined)
  if (!isOpen) return null
  return { ...before, ...next, content: joinedContent(before['content'], next['content'], joinsParts) }
}

/** Parts stay parts in each call of a conversation, whether or not one is marked for the prompt cache. */
function joinedContent(
  before: JsonValue | undefined,
  next: JsonValue | undefined,
  joinsParts: boolean,
): JsonValue {
  if (typeof before === 'string' && typeof next === 'string') {
    const staysParts = joinsParts && before.trim() !== '' && next.trim() !== ''
    if (!staysParts) return `${before}\n\n${next}`
  }
  const parts = [...partsOf(before), ...partsOf(next)]
  return parts.length === 0 ? null : parts
}

function partsOf(content: JsonValue | undefined): readonly JsonValue[] {
  if (Array.isArray(content)) return content
  return typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : []
}

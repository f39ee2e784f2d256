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
  /** The contents that the last message joins; null if it joins none. */
  let gathered: Gathered | null = null
  const close = (): void => {
    const last = fitted.at(-1)
    if (gathered !== null && isJsonObject(last))
      fitted[fitted.length - 1] = { ...last, content: contentOf(gathered) }
    gathered = null
  }
  const lastRole = () => roleOf(fitted.at(-1))
  for (const message of messages) {
    const inOrder = instructionInOrder(
      message,
      fitted.every((one) => roleOf(one) === 'system'),
    )
    if (inOrder === null) continue
    const role = roleOf(inOrder)
    const isFirst = lastRole() === null || lastRole() === 'system'
    if (role === 'assistant' && isFirst) {
      close()
      fitted.push({ role: 'user', content: opening })
    }
    const last = fitted.at(-1)
    if (isJsonObject(last) && isJsonObject(inOrder) && mayJoin(last, inOrder)) {
      gathered ??= gatheredOf(last['content'])
      gathered = joined(gathered, inOrder['content'], joinsParts)
      fitted[fitted.length - 1] = { ...last, ...inOrder, content: null }
    } else {
      close()
      fitted.push(inOrder)
    }
  }
  close()
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

/** Whether two messages become one. */
function mayJoin(before: JsonObject, next: JsonObject): boolean {
  if (before['role'] !== next['role']) return false
  const { role } = next
  // An answer with calls must be followed by their results, so it is not joined.
  return role === 'user' || role === 'system' || (role === 'assistant' && before['tool_calls'] === undefined)
}

/** Contents of one message while it is joined: each is added once, so that many messages cost linear time. */
type Gathered =
  | { readonly kind: 'texts'; readonly texts: string[]; isBlank: boolean }
  | { readonly kind: 'parts'; readonly parts: JsonValue[] }

function gatheredOf(content: JsonValue | undefined): Gathered {
  return typeof content === 'string'
    ? { kind: 'texts', texts: [content], isBlank: content.trim() === '' }
    : { kind: 'parts', parts: [...partsOf(content)] }
}

/** Parts stay parts in each call of a conversation, whether or not one is marked for the prompt cache. */
function joined(before: Gathered, next: JsonValue | undefined, joinsParts: boolean): Gathered {
  if (before.kind === 'texts' && typeof next === 'string') {
    const isBlank = next.trim() === ''
    const staysParts = joinsParts && !before.isBlank && !isBlank
    if (!staysParts) {
      before.texts.push(next)
      before.isBlank &&= isBlank
      return before
    }
  }
  const parts = before.kind === 'parts' ? before.parts : [...partsOf(contentOf(before))]
  for (const part of partsOf(next)) parts.push(part)
  return { kind: 'parts', parts }
}

function contentOf(gathered: Gathered): JsonValue {
  if (gathered.kind === 'texts') return gathered.texts.join('\n\n')
  return gathered.parts.length === 0 ? null : gathered.parts
}

function partsOf(content: JsonValue | undefined): readonly JsonValue[] {
  if (Array.isArray(content)) return content
  return typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : []
}

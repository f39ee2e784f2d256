import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { blockFromReasoning, reasoningFromBlock } from '../translate/reasoning-details.ts'
import type { ReasoningDetail } from '../translate/reasoning-details.ts'

/**
 * Marks `encrypted_content` that the mesh wrote for thinking of another API, with the kind of its block. What OpenAI
 * encrypted itself has no such mark.
 */
const mark = /^flotilla:(thinking|redacted_thinking):([^]*)$/

/** Returns the `encrypted_content` that carries the signature or the encrypted piece; null without either. Pure. */
export function encryptedContentOf(detail: ReasoningDetail): string | null {
  const block = blockFromReasoning(detail)
  const [kind, sealed] =
    block['type'] === 'thinking' ? ['thinking', block['signature']] : ['redacted_thinking', block['data']]
  return typeof sealed === 'string' && sealed !== '' ? `flotilla:${kind}:${sealed}` : null
}

/** Whether OpenAI would reject this reasoning item: only the mesh can read it, or OpenAI would look for a stored one. Pure. */
export function isForeignReasoning(item: JsonValue): boolean {
  if (!isJsonObject(item) || item['type'] !== 'reasoning') return false
  const encrypted = item['encrypted_content']
  return typeof encrypted !== 'string' || encrypted === '' || mark.test(encrypted)
}

/** Converts a reasoning item to a piece of thinking; null for an item that only OpenAI can read. Pure. */
export function reasoningFromItem(item: JsonObject): JsonObject | null {
  const text = [...textsIn(item['content']), ...textsIn(item['summary'])].join('\n\n')
  const encrypted = typeof item['encrypted_content'] === 'string' ? item['encrypted_content'] : ''
  const [, type, sealed = ''] = mark.exec(encrypted) ?? []
  if (type === 'redacted_thinking') return reasoningFromBlock({ type, data: sealed })
  if (text === '' && sealed === '') return null
  return reasoningFromBlock({ type: 'thinking', thinking: text, signature: sealed })
}

function textsIn(parts: JsonValue | undefined): string[] {
  return (Array.isArray(parts) ? parts : []).flatMap((part) =>
    isJsonObject(part) && typeof part['text'] === 'string' ? [part['text']] : [],
  )
}

import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import type { Members } from './claude-message.ts'

/** A block with an empty beginning, and its content as deltas. */
interface MendedBlock {
  readonly block: Members
  readonly deltas: readonly Members[]
}

/** The types of blocks and deltas that a chat completion can express; chat clients get no other types. */
const sayingBlocks: readonly unknown[] = ['text', 'thinking', 'redacted_thinking', 'tool_use']
const sayingDeltas: readonly unknown[] = [
  'text_delta',
  'thinking_delta',
  'signature_delta',
  'input_json_delta',
]

/** Adapts the start of a block; null for a block without readable content. Pure. */
export function mendedBlock(block: Members, keepsUnknown: boolean): MendedBlock | null {
  const { type } = block
  if (!sayingBlocks.includes(type))
    return keepsUnknown && typeof type === 'string' ? { block, deltas: [] } : null
  if (type === 'tool_use') return mendedCall(block)
  if (type === 'redacted_thinking')
    return typeof block['data'] === 'string' && block['data'] !== '' ? { block, deltas: [] } : null
  return mendedText(block, type === 'text' ? 'text' : 'thinking', keepsUnknown)
}

/** Adapts a text or thinking block: text in its start becomes a delta, because readers expect an empty start. */
function mendedText(block: Members, name: 'text' | 'thinking', keepsCitations: boolean): MendedBlock {
  const text = printed(block[name])
  const { signature } = block
  const isSigned = name === 'thinking' && typeof signature === 'string' && signature !== ''
  const isPlain = block[name] === '' && !isSigned && block['citations'] == null
  if (isPlain && (name === 'text' || typeof signature === 'string')) return { block, deltas: [] }
  const deltas: Members[] = text === '' ? [] : [{ type: `${name}_delta`, [name]: text }]
  if (isSigned) deltas.push({ type: 'signature_delta', signature })
  const citations: unknown = block['citations']
  if (keepsCitations && Array.isArray(citations))
    for (const citation of citations as unknown[]) deltas.push({ type: 'citations_delta', citation })
  const { citations: _citations, ...rest } = block
  return { block: { ...rest, [name]: '', ...(name === 'thinking' ? { signature: '' } : {}) }, deltas }
}

/** Adapts a tool call. An input that is no object becomes a delta with its JSON text, so that no content is lost. */
function mendedCall(block: Members): MendedBlock {
  const { id, name, input } = block
  const named = typeof id === 'string' && typeof name === 'string'
  const plain = named ? block : { ...block, id: printed(id), name: printed(name) }
  if (isJsonObject(input)) return { block: plain, deltas: [] }
  const written = input === null || input === undefined ? '' : inputText(input)
  const deltas = written.trim() === '' ? [] : [{ type: 'input_json_delta', partial_json: written }]
  return { block: { ...plain, input: {} }, deltas }
}

/** Servers write the input as the JSON text of an object; anything else stays the text that it is. */
function inputText(input: unknown): string {
  if (typeof input !== 'string') return JSON.stringify(input)
  const inner = readJsonQuietly(input, jsonLimits.modelAnswer)
  return typeof inner === 'string' ? inner : input
}

/** Adapts a delta; null for one without readable content. Pure. */
export function mendedDelta(delta: Members, keepsUnknown: boolean): Members | null {
  const { type } = delta
  if (!sayingDeltas.includes(type)) return keepsUnknown && typeof type === 'string' ? delta : null
  const name = type === 'input_json_delta' ? 'partial_json' : String(type).replace(/_delta$/, '')
  const piece = delta[name]
  if (typeof piece === 'string') return delta
  if (piece === null || piece === undefined) return null
  return { ...delta, [name]: name === 'partial_json' ? JSON.stringify(piece) : printed(piece) }
}

/** Returns a text, or a number or boolean as it is printed; an empty text for any other value. */
function printed(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { callIn, callTypes } from '../answer/call-pieces.ts'
import { wordsAt, wordsOf } from '../answer/read-words.ts'
import { namesOf } from '../answer/strange-content.ts'
import { unreadable } from '../answer/unreadable.ts'
import { membersOf } from './claude-message.ts'
import type { Members } from './claude-message.ts'

/** A block with an empty beginning, and its content as deltas. */
interface MendedBlock {
  readonly block: Members
  readonly deltas: readonly Members[]
}

/** The types of blocks and deltas that a chat completion can express; chat clients get no other types. */
const sayingBlocks: readonly unknown[] = ['text', 'thinking', 'redacted_thinking', 'tool_use']
export const sayingDeltas: readonly unknown[] = [
  'text_delta',
  'thinking_delta',
  'signature_delta',
  'input_json_delta',
]

/** Names that other APIs have for the types of blocks. */
const otherTypes: Readonly<Record<string, string>> = {
  output_text: 'text',
  refusal: 'text',
  reasoning: 'thinking',
  thought: 'thinking',
}
const textNames = ['text', 'content', 'output_text', 'refusal', 'value'] as const
const thinkingNames = ['thinking', 'reasoning', 'text', 'content', 'summary'] as const

/** Returns the start of a block in the form of the API; the same object if it has that form. Pure. */
export function readBlock(given: unknown): Members {
  if (typeof given === 'string') return { type: 'text', text: given }
  const block = membersOf(given)
  const type = typeOfBlock(block)
  if (type === 'tool_use') return readCall(block)
  if (type === 'text' && typeof block['text'] !== 'string')
    return { ...block, type, text: wordsAt(block, textNames) }
  if (type === 'thinking' && typeof block['thinking'] !== 'string')
    return { ...block, type, thinking: wordsAt(block, thinkingNames) }
  return block['type'] === type ? block : { ...block, type }
}

/** Returns the type of a block by its name in any API, or by its members. */
function typeOfBlock(block: Members): unknown {
  const { type } = block
  if (typeof type === 'string' && type !== '')
    return callTypes.includes(type) ? 'tool_use' : (otherTypes[type] ?? type)
  if ('name' in block || 'function' in block) return 'tool_use'
  if ('thinking' in block || 'reasoning' in block) return 'thinking'
  return textNames.some((name) => name in block) ? 'text' : type
}

function readCall(block: Members): Members {
  const { type, id, name, input } = block
  if (type === 'tool_use' && typeof id === 'string' && typeof name === 'string' && input !== undefined)
    return block
  const call = callIn(block)
  if (call === null) throw unreadable(`a call of ${namesOf(block)}`)
  return { type: 'tool_use', id: call.id, name: call.name, input: input ?? call.arguments }
}

/** Adapts the start of a block in the form of the API; null for a block without readable content. Pure. */
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
  const text = wordsOf(block[name])
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

/** The name of the content in a delta of each type, and the names that other APIs have for it. */
const pieceNames: Readonly<Record<string, readonly [string, ...string[]]>> = {
  text_delta: ['text', 'content', 'output_text', 'value', 'delta'],
  thinking_delta: ['thinking', 'reasoning', 'text', 'content', 'summary', 'delta'],
  signature_delta: ['signature'],
  input_json_delta: ['partial_json', 'input', 'arguments', 'parameters', 'args', 'json', 'delta'],
}
const deltaOfBlock: Readonly<Record<string, string>> = {
  text: 'text_delta',
  thinking: 'thinking_delta',
  tool_use: 'input_json_delta',
}

/**
 * Returns a delta in the form of the API; the same object if it has that form or an unknown one. `blockType` is the
 * type of the block to which the delta belongs; undefined if the block has not begun. Pure.
 */
export function readDelta(given: unknown, blockType: unknown): Members {
  const ofBlock = deltaOfBlock[String(blockType)]
  if (typeof given === 'string') {
    const type = ofBlock ?? 'text_delta'
    return { type, [pieceNames[type]?.[0] ?? 'text']: given }
  }
  const delta = membersOf(given)
  const type = sayingDeltas.includes(delta['type']) ? String(delta['type']) : typeOfDelta(delta, ofBlock)
  const names = type === null ? undefined : pieceNames[type]
  if (type === null || names === undefined) return delta
  const [name] = names
  if (delta['type'] === type && (delta[name] ?? null) !== null) return delta
  const piece = names.map((one) => delta[one]).find((one) => (one ?? null) !== null)
  return piece === undefined ? delta : { type, [name]: piece }
}

/** Names that other APIs have for the types of deltas, without `response.` before and `delta` behind them. */
const otherDeltas: Readonly<Record<string, RegExp>> = {
  text_delta: /^(?:output_?)?(?:text|content|message|refusal|value)?$/,
  thinking_delta: /^(?:thinking|thought|reasoning|summary)(?:_(?:content|summary|text|summary_text))?$/,
  signature_delta: /^signature$/,
  input_json_delta:
    /^(?:(?:tool(?:_use|_call)?|function(?:_call)?|custom_tool_call)(?:_(?:input|arguments))?|(?:input_|partial_)?json|input|arguments|parameters|args)$/,
}

/**
 * Returns the type of a delta whose own type is missing or another API's; null for an unknown delta. A type that no API
 * has for the content of the block says that the delta is something else: members named `text` or `content` are not
 * evidence, because new deltas have them too. Pure.
 */
function typeOfDelta(delta: Members, ofBlock: string | undefined): string | null {
  const { type } = delta
  if (typeof type === 'string' && type !== '') {
    const name = type.replace(/^response\./, '').replace(/(?:^|[._])delta$/, '')
    const isOf = (one: string) => otherDeltas[one]?.test(name) === true
    if (ofBlock !== undefined) return isOf(ofBlock) ? ofBlock : null
    return Object.keys(otherDeltas).find(isOf) ?? null
  }
  if ('partial_json' in delta) return 'input_json_delta'
  if (typeof delta['thinking'] === 'string') return 'thinking_delta'
  if (typeof delta['signature'] === 'string') return 'signature_delta'
  return ofBlock ?? (typeof delta['text'] === 'string' ? 'text_delta' : null)
}

/** Adapts a delta in the form of the API; null for one without readable content. Pure. */
export function mendedDelta(delta: Members, keepsUnknown: boolean): Members | null {
  const { type } = delta
  if (!sayingDeltas.includes(type)) return keepsUnknown && typeof type === 'string' ? delta : null
  const name = pieceNames[String(type)]?.[0] ?? 'text'
  const piece = delta[name]
  if (typeof piece === 'string') return delta
  if (piece === null || piece === undefined) return null
  return { ...delta, [name]: name === 'partial_json' ? JSON.stringify(piece) : wordsOf(piece) }
}

/** Returns an id or a name as a text; an empty text for one that cannot be read, because the mesh gives its own. */
function printed(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

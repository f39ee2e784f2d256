import type { JsonObject } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import type { ContentBlock } from '../messages-request.ts'

/**
 * What a model thought, as a chat message carries it between turns: text with the provider's signature, or a sealed
 * piece, which may belong to one tool call (`id`). A provider refuses a conversation whose thinking was changed.
 */
const reasoningDetailSchema = z.looseObject({
  type: z.enum(['reasoning.text', 'reasoning.encrypted']),
  text: z.string().nullish(),
  signature: z.string().nullish(),
  data: z.string().nullish(),
  /** The tool call that it belongs to. */
  id: z.string().nullish(),
  index: z.number().nullish(),
  /** Whose seal it is. */
  format: z.string().nullish(),
})
export type ReasoningDetail = z.infer<typeof reasoningDetailSchema>

const detailsSchema = z.array(z.unknown())

/** Entries that are of the known kinds; others are skipped. Pure. */
export function readReasoningDetails(value: unknown): readonly ReasoningDetail[] {
  const list = detailsSchema.safeParse(value)
  if (!list.success) return []
  return list.data.flatMap((entry) => {
    const parsed = reasoningDetailSchema.safeParse(entry)
    return parsed.success ? [parsed.data] : []
  })
}

/** Anthropic's own seals are written as they are; all others say whose they are and to which tool call they belong. */
const ownFormat = 'anthropic-claude-v1'
const foreignSeal = /^([a-z0-9-]*):([^:]*):([^]*)$/

function seal(value: string, { format, id }: ReasoningDetail): string {
  const owner = typeof format === 'string' ? format : ''
  return owner === ownFormat || value === '' ? value : `${owner}:${id ?? ''}:${value}`
}

function unseal(text: string): { readonly value: string; readonly format: string; readonly id: string } {
  const [, format, id, value] = foreignSeal.exec(text) ?? []
  return value === undefined
    ? { value: text, format: ownFormat, id: '' }
    : { value, format: format ?? '', id: id ?? '' }
}

/** A block of a message, from a piece of thinking. Pure. */
export function blockFromReasoning(detail: ReasoningDetail): JsonObject {
  return detail.type === 'reasoning.text'
    ? { type: 'thinking', thinking: detail.text ?? '', signature: sealedSignature(detail) }
    : { type: 'redacted_thinking', data: seal(detail.data ?? '', detail) }
}

export function sealedSignature(detail: ReasoningDetail): string {
  return seal(detail.signature ?? '', detail)
}

/** The piece of thinking in a block; null for other blocks. Pure. */
export function reasoningFromBlock(block: ContentBlock): JsonObject | null {
  const isText = block.type === 'thinking'
  if (!isText && block.type !== 'redacted_thinking') return null
  const sealed = (isText ? block.signature : block.data) ?? ''
  const { value, format, id } = unseal(sealed)
  const owner = sealed === '' || format === '' ? {} : { format }
  if (!isText) return { type: 'reasoning.encrypted', data: value, ...(id === '' ? {} : { id }), ...owner }
  return {
    type: 'reasoning.text',
    text: block.thinking ?? '',
    ...(value === '' ? {} : { signature: value }),
    ...owner,
  }
}

/** Thinking that Anthropic has not sealed itself, and would refuse to read. */
export function isForeignThinking(block: JsonObject): boolean {
  const sealed = block['type'] === 'thinking' ? block['signature'] : block['data']
  if (block['type'] !== 'thinking' && block['type'] !== 'redacted_thinking') return false
  return typeof sealed !== 'string' || sealed === '' || foreignSeal.test(sealed)
}

/** What is readable of it. Pure. */
export function plainTextOf(details: readonly ReasoningDetail[]): string {
  return details.map((detail) => detail.text ?? '').join('')
}

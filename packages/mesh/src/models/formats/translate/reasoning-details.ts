import type { JsonObject } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import type { ContentBlock } from '../messages-request.ts'

/**
 * The thinking of a model, as a chat message carries it between turns: text with the provider's signature, or an
 * encrypted piece, which may belong to one tool call (`id`). A provider rejects changed thinking.
 */
const reasoningDetailSchema = z.looseObject({
  type: z.enum(['reasoning.text', 'reasoning.encrypted']),
  text: z.string().nullish(),
  signature: z.string().nullish(),
  data: z.string().nullish(),
  /** The tool call that this piece belongs to. */
  id: z.string().nullish(),
  index: z.number().nullish(),
  /** The format, which names the provider family that signed the piece. */
  format: z.string().nullish(),
})
export type ReasoningDetail = z.infer<typeof reasoningDetailSchema>

const detailsSchema = z.array(z.unknown())

/** The entries of known types; others are skipped. Pure. */
export function readReasoningDetails(value: unknown): readonly ReasoningDetail[] {
  const list = detailsSchema.safeParse(value)
  if (!list.success) return []
  return list.data.flatMap((entry) => {
    const parsed = reasoningDetailSchema.safeParse(entry)
    return parsed.success ? [parsed.data] : []
  })
}

/** Anthropic's signatures are written unchanged; all others get their format and tool call id as a prefix. */
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

/** Converts a piece of thinking to a message block. Pure. */
export function blockFromReasoning(detail: ReasoningDetail): JsonObject {
  return detail.type === 'reasoning.text'
    ? { type: 'thinking', thinking: detail.text ?? '', signature: sealedSignature(detail) }
    : { type: 'redacted_thinking', data: seal(detail.data ?? '', detail) }
}

export function sealedSignature(detail: ReasoningDetail): string {
  return seal(detail.signature ?? '', detail)
}

/** Converts a message block to a piece of thinking; null for other blocks. Pure. */
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

/** Whether a thinking block lacks Anthropic's own signature, so that Anthropic would reject it. */
export function isForeignThinking(block: JsonObject): boolean {
  const sealed = block['type'] === 'thinking' ? block['signature'] : block['data']
  if (block['type'] !== 'thinking' && block['type'] !== 'redacted_thinking') return false
  return typeof sealed !== 'string' || sealed === '' || foreignSeal.test(sealed)
}

/** The readable text of the thinking. Pure. */
export function plainTextOf(details: readonly ReasoningDetail[]): string {
  return details.map((detail) => detail.text ?? '').join('')
}

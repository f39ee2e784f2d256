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
  /** The name of the provider that signed the piece; only this provider can verify it. */
  from: z.string().nullish(),
})
export type ReasoningDetail = z.infer<typeof reasoningDetailSchema>

const detailsSchema = z.array(z.unknown())

/** Returns the entries of known types; others are skipped. Pure. */
export function readReasoningDetails(value: unknown): readonly ReasoningDetail[] {
  const list = detailsSchema.safeParse(value)
  if (!list.success) return []
  return list.data.flatMap((entry) => {
    const parsed = reasoningDetailSchema.safeParse(entry)
    return parsed.success ? [parsed.data] : []
  })
}

/**
 * The signatures of the provider `anthropic` are written unchanged. All others get a prefix: their format, the name
 * of their provider and their tool call id.
 */
const ownFormat = 'anthropic-claude-v1'
const ownName = 'anthropic'
const foreignSeal = /^([a-z0-9-]*)(?:@([^:@]*))?:([^:]*):([^]*)$/

/** Returns the part of a seal before the signature; empty for the provider `anthropic` itself. Pure. */
export function sealPrefix({ format, from, id }: Pick<ReasoningDetail, 'format' | 'from' | 'id'>): string {
  const name = from ?? ''
  if (format === ownFormat && (name === '' || name === ownName)) return ''
  return `${format ?? ''}${name === '' ? '' : `@${encodeURIComponent(name)}`}:${id ?? ''}:`
}

function seal(value: string, detail: ReasoningDetail): string {
  return value === '' ? value : sealPrefix(detail) + value
}

interface Unsealed {
  readonly value: string
  readonly format: string
  /** The name of the provider that signed; null for a seal of an older release, which names no provider. */
  readonly from: string | null
  readonly id: string
}

function unseal(text: string): Unsealed {
  const [, format = '', name, id = '', value] = foreignSeal.exec(text) ?? []
  if (value === undefined) return { value: text, format: ownFormat, from: null, id: '' }
  return { value, format, from: name === undefined ? null : decoded(name), id }
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/**
 * Whether this provider signed the piece: signatures are bound to their origin, because a server with another's API
 * cannot verify them. Pieces without a name are bound by their format alone. Pure.
 */
export function isSignedBy(
  provider: string,
  { format, from }: { readonly format?: unknown; readonly from?: unknown },
): boolean {
  const named = typeof from === 'string' && from !== '' ? from : null
  const owner = named ?? (format === ownFormat ? ownName : null)
  return owner === null || provider === '' || owner === provider
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
  const { value, format, from, id } = unseal(sealed)
  const owner = sealed === '' || format === '' ? {} : { format, ...(from === null ? {} : { from }) }
  if (!isText) return { type: 'reasoning.encrypted', data: value, ...(id === '' ? {} : { id }), ...owner }
  return {
    type: 'reasoning.text',
    text: block.thinking ?? '',
    ...(value === '' ? {} : { signature: value }),
    ...owner,
  }
}

/**
 * Returns a thinking block as its provider wrote it, for a provider of the Messages API; null if another provider
 * signed the block, because this provider would reject it. Returns other blocks unchanged. Pure.
 */
export function ownBlock(block: JsonObject, provider: string): JsonObject | null {
  const field =
    block['type'] === 'thinking' ? 'signature' : block['type'] === 'redacted_thinking' ? 'data' : null
  if (field === null) return block
  const sealed = block[field]
  if (typeof sealed !== 'string' || sealed === '') return null
  const { value, format, from } = unseal(sealed)
  if (format !== ownFormat || !isSignedBy(provider, { format, from })) return null
  return value === sealed ? block : { ...block, [field]: value }
}

/** Returns the readable text of the thinking. Pure. */
export function plainTextOf(details: readonly ReasoningDetail[]): string {
  return details.map((detail) => detail.text ?? '').join('')
}

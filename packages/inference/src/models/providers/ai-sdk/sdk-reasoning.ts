import type {
  LanguageModelV4ReasoningPart,
  SharedV4ProviderMetadata,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { isSignedBy, readReasoningDetails } from '../../formats/translate/reasoning-details.ts'
import type { ReasoningDetail } from '../../formats/translate/reasoning-details.ts'
import type { SdkRules } from './sdk-rules.ts'

/** Returns earlier thinking of this provider, which cannot verify thinking that another provider signed. */
function ownDetails(details: unknown, rules: SdkRules): readonly ReasoningDetail[] {
  return readReasoningDetails(details).filter(
    (detail) =>
      (typeof detail.format !== 'string' || detail.format === rules.reasoningFormat) &&
      isSignedBy(rules.name ?? '', detail),
  )
}

/** Joins the pieces of one thinking block into one part: text first, signature last. Pure. */
export function reasoningParts(details: unknown, rules: SdkRules): LanguageModelV4ReasoningPart[] {
  const parts: LanguageModelV4ReasoningPart[] = []
  let last: { part: LanguageModelV4ReasoningPart; index: unknown; isSigned: boolean } | null = null
  for (const detail of ownDetails(details, rules)) {
    if (detail.type === 'reasoning.encrypted') {
      if (isSealOfOther(detail, rules)) continue
      parts.push({ type: 'reasoning', text: '', providerOptions: sealed(detail.data ?? '', rules) })
      last = null
      continue
    }
    const text = detail.text ?? ''
    const follows = last !== null && !last.isSigned && last.index === (detail.index ?? null)
    if (last === null || !follows) {
      const part: LanguageModelV4ReasoningPart = { type: 'reasoning', text: '' }
      parts.push(part)
      last = { part, index: detail.index ?? null, isSigned: false }
    }
    last.part.text += text
    if (detail.signature) {
      last.part.providerOptions = signed(detail.signature, rules)
      last.isSigned = true
    }
  }
  return parts
}

/** Returns the thinking that came between the calls of one answer, by the call behind it. Pure. */
export function reasoningOfCalls(
  details: unknown,
  rules: SdkRules,
): ReadonlyMap<string, LanguageModelV4ReasoningPart[]> {
  const byCall = new Map<string, LanguageModelV4ReasoningPart[]>()
  if (rules.hasItems !== true) return byCall
  for (const { type, id, data } of ownDetails(details, rules)) {
    if (type !== 'reasoning.encrypted' || !id || !data) continue
    const parts = byCall.get(id) ?? []
    parts.push({ type: 'reasoning', text: '', providerOptions: sealed(data, rules) })
    byCall.set(id, parts)
  }
  return byCall
}

/**
 * Whether the signature belongs to a call or text: Google signs these instead of thinking, and OpenAI's thinking may
 * come between two calls.
 */
function isSealOfOther(detail: ReasoningDetail, rules: SdkRules): boolean {
  return Boolean(detail.id) || rules.options === 'google'
}

/** Returns Google's signatures of tool calls and of the text. Pure. */
export function sealsOfCalls(
  details: unknown,
  rules: SdkRules,
): {
  readonly byCall: ReadonlyMap<string, SharedV4ProviderOptions>
  readonly text: SharedV4ProviderOptions | null
} {
  const byCall = new Map<string, SharedV4ProviderOptions>()
  let text: SharedV4ProviderOptions | null = null
  if (rules.options !== 'google') return { byCall, text }
  for (const detail of ownDetails(details, rules)) {
    if (detail.type !== 'reasoning.encrypted' || !detail.data) continue
    if (detail.id) byCall.set(detail.id, signed(detail.data, rules))
    else text = signed(detail.data, rules)
  }
  return { byCall, text }
}

function signed(signature: string, rules: SdkRules): SharedV4ProviderOptions {
  const field = rules.options === 'google' ? 'thoughtSignature' : 'signature'
  return { [rules.options]: { [field]: signature } }
}

function sealed(data: string, rules: SdkRules): SharedV4ProviderOptions {
  const redacted = rules.options === 'bedrock' ? 'redactedContent' : 'redactedData'
  const field = rules.hasItems === true ? encryptedField : redacted
  return { [rules.options]: { [field]: data } }
}

/** Returns the signature, or encrypted thinking, that a provider attached to a part of its answer. Pure. */
export function sealIn(
  metadata: SharedV4ProviderMetadata | undefined,
  rules: SdkRules,
): { readonly signature: string | null; readonly sealed: string | null } {
  const own = metadata?.[rules.options] ?? {}
  const text = (...names: string[]): string | null => {
    for (const name of names) {
      const value = own[name]
      if (typeof value === 'string' && value !== '') return value
    }
    return null
  }
  return {
    signature: text('signature', 'thoughtSignature'),
    sealed: text('redactedData', 'redactedContent', encryptedField),
  }
}

const encryptedField = 'reasoningEncryptedContent'

/** Encrypted thinking of one answer, whose place depends on what follows it. */
interface HeldThinking {
  hold(sealed: string): void
  /** Returns the thinking before a text (null) or a call. */
  before(callId: string | null): readonly JsonObject[]
}

/**
 * Thinking behind a call belongs to the next call, because the provider expects it back at this place. Thinking at the
 * end of an answer is dropped: the provider rejects it without what it was for.
 */
export function createHeldThinking(rules: SdkRules): HeldThinking {
  let held: string[] = []
  let calls = 0
  return {
    hold: (sealed) => void held.push(sealed),
    before(callId) {
      const isBetween = callId !== null && calls > 0
      if (callId !== null) calls++
      const details = held.map((sealed) => detailOf({ sealed, ...(isBetween ? { callId } : {}), rules }))
      held = []
      return details
    },
  }
}

/** Writes one piece of thinking in the form of `reasoning_details`. Pure. */
export function detailOf(piece: {
  readonly text?: string
  readonly signature?: string | null
  readonly sealed?: string | null
  readonly callId?: string
  readonly index?: number
  readonly rules: SdkRules
}): JsonObject {
  const at = {
    format: piece.rules.reasoningFormat,
    ...(piece.rules.name === undefined ? {} : { from: piece.rules.name }),
    ...(piece.index === undefined ? {} : { index: piece.index }),
  }
  if (piece.sealed) {
    const id = piece.callId === undefined ? {} : { id: piece.callId }
    return { type: 'reasoning.encrypted', data: piece.sealed, ...id, ...at }
  }
  return {
    type: 'reasoning.text',
    text: piece.text ?? '',
    ...(piece.signature ? { signature: piece.signature } : {}),
    ...at,
  }
}

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

/** Whether the signature belongs to a call or text: Google signs these instead of thinking. */
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
  const field = rules.options === 'bedrock' ? 'redactedContent' : 'redactedData'
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
    sealed: text('redactedData', 'redactedContent'),
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

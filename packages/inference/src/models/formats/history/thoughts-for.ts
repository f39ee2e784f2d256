import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { geminiFormat } from '../answer/thoughts.ts'
import type { HistoryRules } from './history-rules.ts'

/** Earlier thinking in the form that a message to one provider needs. */
interface FittedThoughts {
  readonly members: JsonObject
  /** Signatures by the id of their call. */
  readonly seals: ReadonlyMap<string, string>
  /** True if the message had no thinking and gets none, so that it stays unchanged. */
  readonly isSame: boolean
}

/** Google's documented placeholder for the signature of a call that another model made. */
const foreignSeal = 'skip_thought_signature_validator'
/** Sent in place of thinking if the provider requires thinking and another model made the call. */
const noThought = ' '

interface At {
  readonly rules: HistoryRules
  /** The new id of each call by its old id. */
  readonly known: ReadonlyMap<string, string>
  readonly hasCalls: boolean
}

/** Fits thinking to a provider, which gets only its own, because signatures are bound to their origin. Pure. */
export function thoughtsFor(value: JsonValue | undefined, { rules, known, hasCalls }: At): FittedThoughts {
  const details = Array.isArray(value) ? value.filter(isJsonObject) : []
  const none: FittedThoughts = { members: {}, seals: new Map(), isSame: value === undefined }
  const { thinking, provider } = rules
  const own = details.filter((detail) => detail['from'] === provider)
  switch (thinking.takes) {
    case 'nothing':
      return none
    case 'all':
      return own.length === 0
        ? { ...none, isSame: value === undefined }
        : { ...none, isSame: false, members: { reasoning_details: renamed(own, known) } }
    case 'text': {
      if (!hasCalls) return none
      const text = own.map(textIn).join('')
      return { ...none, isSame: false, members: { [thinking.field]: text === '' ? noThought : text } }
    }
    case 'details': {
      const taken = own.filter(
        (detail) => typeof detail['format'] === 'string' && thinking.formats.includes(detail['format']),
      )
      if (taken.length === 0) return none
      return { ...none, isSame: false, members: { reasoning_details: renamed(taken.map(bare), known) } }
    }
    case 'seals':
      return hasCalls ? { ...none, isSame: false, seals: sealsFor(own, known) } : none
    case 'own':
      return own.length === 0 ? none : { ...none, isSame: false, ...asItCame(own, known) }
  }
}

/** Returns the signature of each call. If Gemini made none of the calls, the first call gets the placeholder. */
function sealsFor(
  details: readonly JsonObject[],
  known: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const seals = new Map<string, string>()
  for (const detail of details) {
    const id = known.get(textOf(detail['id']))
    const isSeal = detail['format'] === geminiFormat && detail['type'] === 'reasoning.encrypted'
    if (isSeal && id !== undefined) seals.set(id, textOf(detail['data']))
  }
  const [first] = known.values()
  if (seals.size === 0 && first !== undefined) seals.set(first, foreignSeal)
  return seals
}

function asItCame(own: readonly JsonObject[], known: ReadonlyMap<string, string>): Partial<FittedThoughts> {
  const field = textOf(own[0]?.['field'])
  switch (field) {
    case 'reasoning_content':
    case 'reasoning':
    case 'reasoning_text':
    case 'thinking':
      return { members: { [field]: own.map(textIn).join('') } }
    case 'reasoning_details':
      return { members: { reasoning_details: renamed(own.map(bare), known) } }
    case 'thinking_blocks':
      return { members: { thinking_blocks: own.map(blockOf) } }
    case 'extra_content':
      return { seals: sealsFor(own, known) }
    default:
      // Thinking between tags or in the words is not sent back, because servers remove such thinking from a history.
      return {}
  }
}

function blockOf(detail: JsonObject): JsonObject {
  if (detail['type'] === 'reasoning.encrypted')
    return { type: 'redacted_thinking', data: textOf(detail['data']) }
  return { type: 'thinking', thinking: textIn(detail), signature: textOf(detail['signature']) }
}

/** Removes the members that only the mesh uses. */
function bare({ from: _from, field: _field, ...detail }: JsonObject): JsonObject {
  return detail
}

function renamed(details: readonly JsonObject[], known: ReadonlyMap<string, string>): JsonObject[] {
  return details.map((detail) => {
    const id = known.get(textOf(detail['id']))
    return id === undefined || id === detail['id'] ? detail : { ...detail, id }
  })
}

function textIn(detail: JsonObject): string {
  return textOf(detail['text']) || textOf(detail['summary'])
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

import type { JsonObject } from '@flotilla/protocol/json-value'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { geminiFormat } from '../answer/thoughts.ts'
import { readReasoningDetails } from '../translate/reasoning-details.ts'

/**
 * A `thoughtSignature` that carries the thinking before a part, in base64, because Google's clients parse it so. They
 * send it back with the part, while many drop the parts with the thinking itself. It names the provider that signed,
 * as `reasoning_details` do, so that no other provider gets it.
 */
const mark = 'flotilla:'

interface Sealed {
  /** The thinking before the part. */
  readonly before: readonly JsonObject[]
  /** The signatures of the call itself, without its id, which the client may change. */
  readonly own: readonly JsonObject[]
}

/** Returns the signature; undefined without thinking. Pure. */
export function sealOf({ before, own }: Sealed): string | undefined {
  if (before.length + own.length === 0) return undefined
  return Buffer.from(mark + JSON.stringify({ before, own })).toString('base64')
}

/**
 * Returns the thinking that a signature carries; a signature without the mark is Google's own. Pieces that belong to a
 * call get the id that the call has in this conversation. Pure.
 */
export function detailsOfSeal(seal: string, callId: string | null): readonly JsonObject[] {
  const text = Buffer.from(seal, 'base64').toString('utf8')
  const owner = callId === null ? {} : { id: callId }
  if (!text.startsWith(mark)) {
    // Google's client for Python writes base64 for addresses, which not all providers read.
    const data = seal.replaceAll('-', '+').replaceAll('_', '/')
    return [{ type: 'reasoning.encrypted', data, format: geminiFormat, ...owner }]
  }
  const value = readJsonQuietly(text.slice(mark.length), jsonLimits.modelBody)
  const { before, own }: JsonObject = isJsonObject(value) ? value : {}
  return [...detailsIn(before), ...detailsIn(own).map((detail) => ({ ...detail, ...owner }))]
}

/** The members of a piece of thinking; a client may have added others. */
const names = [
  'type',
  'text',
  'summary',
  'signature',
  'data',
  'id',
  'index',
  'format',
  'from',
  'field',
] as const

function detailsIn(value: unknown): readonly JsonObject[] {
  return readReasoningDetails(value).map((detail) => {
    const known: Record<string, string | number> = {}
    for (const name of names) {
      const member = detail[name]
      if (typeof member === 'string' || typeof member === 'number') known[name] = member
    }
    return known
  })
}

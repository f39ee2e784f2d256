import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { jsonLimits } from '@flotilla/protocol/limits'
import { measureJson, readJsonQuietly } from '@flotilla/foundation/intake'
import { geminiFormat } from '../answer/thoughts.ts'
import { readReasoningDetails } from '../translate/reasoning-details.ts'

/**
 * A `thoughtSignature` that carries the thinking before a part, in base64, because Google's clients parse it so. They
 * send it back with the part, while many drop the parts with the thinking itself. It names the provider that signed,
 * as `reasoning_details` do, so that no other provider gets it.
 */
const mark = 'flotilla:'

/**
 * Limits for all signatures of one call together, because a client can forge many of them. The rest of the thinking is
 * ignored. Checking an entry costs several times as much as parsing it.
 */
export const sealLimits = {
  /** The maximum number of entries, also of those that are no thinking. */
  detailsMax: 20_000,
  /** The maximum number of JSON values, checked before parsing. */
  valuesMax: 200_000,
  /** The maximum number of members of JSON objects, checked before parsing. */
  membersMax: 50_000,
} as const

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

/** Reads the signatures of one call. */
export interface SealReader {
  /**
   * Returns the thinking that a signature carries; a signature without the mark is Google's own. Pieces that belong to
   * a call get the id that the call has in this conversation.
   */
  detailsOf(seal: string, callId: string | null): readonly JsonObject[]
}

export function createSealReader(): SealReader {
  const left: Record<keyof typeof sealLimits, number> = { ...sealLimits }

  /** Returns an empty object for invalid JSON and for more than is left. */
  function sealed(text: string): JsonObject {
    const bytes = Buffer.from(text)
    const bounds = { ...jsonLimits.modelBody, nodesMax: left.valuesMax, membersMax: left.membersMax }
    const { nodes, members } = measureJson(bytes, bounds)
    left.valuesMax -= nodes
    left.membersMax -= members
    const value = readJsonQuietly(bytes, bounds)
    if (!isJsonObject(value)) return {}
    left.detailsMax -= lengthOf(value['before']) + lengthOf(value['own'])
    return left.detailsMax < 0 ? {} : value
  }

  return {
    detailsOf(seal, callId) {
      const text = Buffer.from(seal, 'base64').toString('utf8')
      const owner = callId === null ? {} : { id: callId }
      if (!text.startsWith(mark)) {
        // Google's client for Python writes base64 for addresses, which not all providers read.
        const data = seal.replaceAll('-', '+').replaceAll('_', '/')
        return [{ type: 'reasoning.encrypted', data, format: geminiFormat, ...owner }]
      }
      const { before, own } = sealed(text.slice(mark.length))
      return [...detailsIn(before), ...detailsIn(own).map((detail) => ({ ...detail, ...owner }))]
    },
  }
}

function lengthOf(value: JsonValue | undefined): number {
  return Array.isArray(value) ? value.length : 0
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

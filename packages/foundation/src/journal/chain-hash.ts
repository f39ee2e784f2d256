import { createHash } from 'node:crypto'
import type { JsonValue } from '@flotilla/protocol/json-value'

/** The hashed fields of a row in the chain. Pure. */
export interface JournalLink {
  readonly seq: number
  readonly at: number
  readonly actor: string
  readonly action: string
  readonly subject: string
  /** Canonical JSON exactly as in its column, so that parsing and serializing cannot change it. */
  readonly detail: string
}

/** The previous hash of the first row, which no row precedes. */
export const genesisHash = '0'.repeat(64)

/** SHA-256 over the previous hash, the canonical JSON of the row, and its detail, a line each; as 64 hex digits. */
export function chainHash(previousHash: string, link: JournalLink): string {
  const { seq, at, actor, action, subject, detail } = link
  const row = `${canonicalJson({ seq, at, actor, action, subject })}\n${detail}`
  return createHash('sha256').update(previousHash).update('\n').update(row).digest('hex')
}

/** JSON with the keys of every object in code unit order and no white space; equal values give equal text. */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value !== null && typeof value === 'object') {
    const members = Object.keys(value)
      .sort()
      .flatMap((key) => {
        const member = value[key]
        return member === undefined ? [] : [`${JSON.stringify(key)}:${canonicalJson(member)}`]
      })
    return `{${members.join(',')}}`
  }
  return JSON.stringify(value)
}

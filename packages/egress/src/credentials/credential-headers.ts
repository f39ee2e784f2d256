import { Problem } from '@flotilla/protocol/problem'
import { handleFor } from './handles.ts'
import type { Secret } from './secret.ts'

/** A credential that an agent may use, and its placeholder in the agent's container. */
export interface Held {
  readonly secret: Secret
  readonly placeholder: string
}

/** A header that contains credentials, with handles in place of the placeholders. */
interface FoundHeader {
  /** Where the value is in the list of names and values. */
  readonly at: number
  readonly name: string
  readonly text: string
  readonly isBasic: boolean
}

/**
 * Finds the headers of a program's request that contain placeholders or handles; `Basic` credentials are decoded
 * first. Throws the problem `bad-request` for a header that occurs twice and contains one. Pure.
 */
export function findHeaders(raw: readonly string[], held: readonly Held[]): readonly FoundHeader[] {
  const found: FoundHeader[] = []
  for (let at = 1; at < raw.length; at += 2) {
    const name = raw[at - 1]?.toLowerCase() ?? ''
    const value = raw[at] ?? ''
    const basic = name === 'authorization' ? decodedBasic(value) : null
    const text = withHandles(basic ?? value, held)
    if (!text.includes('$CRED{')) continue
    if (found.some((other) => other.name === name))
      throw new Problem('bad-request', { detail: `headers: ${name} occurs twice with a credential` })
    found.push({ at, name, text, isBasic: basic !== null })
  }
  return found
}

/** Writes the filled texts back into the list of names and values. Pure. */
export function writeHeaders(
  raw: readonly string[],
  found: readonly FoundHeader[],
  filled: Readonly<Record<string, string>>,
): readonly string[] {
  const written = [...raw]
  for (const { at, name, isBasic } of found) {
    const text = filled[name] ?? ''
    written[at] = isBasic ? `Basic ${Buffer.from(text).toString('base64')}` : text
  }
  return written
}

function withHandles(text: string, held: readonly Held[]): string {
  return held.reduce(
    (now, { secret, placeholder }) => now.replaceAll(placeholder, () => handleFor(secret.name)),
    text,
  )
}

/** The user name and the password of `Basic` credentials; null for another scheme. */
function decodedBasic(value: string): string | null {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(value)?.[1]
  return encoded === undefined ? null : Buffer.from(encoded, 'base64').toString('utf8')
}

import { base64Core } from '@flotilla/protocol/secret-text/scrub'
import type { Secret } from './secret.ts'

/** An encoding of a value that is shorter than this is not searched: it would occur in any bytes by chance. */
const encodedMinBytes = 6

/** Overwrites the values of credentials in bytes that are not text, such as archives, without changing their length. */
export interface ByteScrub {
  /** The maximum length of a spelling of a value, in bytes: as many bytes of a stream must be searched together. */
  readonly reachBytes: number
  /** Overwrites each value with stars, also where it is encoded, in place. */
  clean(bytes: Buffer): void
}

/**
 * Searches the value and its usual encodings, because a server may state no type for a text, or the type of bytes.
 * Texts are searched for more, such as mixed spellings.
 */
export function createByteScrub(secrets: readonly Secret[]): ByteScrub {
  const patterns = secrets.flatMap((secret) => spellingsOf(secret.reveal()))
  return {
    reachBytes: Math.max(0, ...patterns.map(({ length }) => length)),
    clean: (bytes) => {
      for (const pattern of patterns) {
        for (let at = bytes.indexOf(pattern); at !== -1; at = bytes.indexOf(pattern, at + pattern.length))
          bytes.fill('*', at, at + pattern.length)
      }
    },
  }
}

function spellingsOf(value: string): readonly Buffer[] {
  const written = [value, encodeURIComponent(value.toWellFormed()), JSON.stringify(value).slice(1, -1)]
  const encoded = new Set(written.flatMap((text) => [text, ...encodingsOf(text)]))
  encoded.delete(value)
  const long = [...encoded].filter((text) => text.length >= encodedMinBytes)
  // The longest first: a value that is overwritten in its JSON would leave the escapes around it.
  const patterns = [...long, value].toSorted((one, other) => other.length - one.length)
  return patterns.map((text) => Buffer.from(text))
}

/** A text in base64 of either alphabet at any alignment, percent-encoded, as hex, and escaped as JSON. */
function encodingsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text)
  const base64 = [0, 1, 2].map((before) => base64Core(bytes, before))
  const hex = bytes.toString('hex')
  const units = Array.from({ length: text.length }, (_, at) =>
    text.charCodeAt(at).toString(16).padStart(4, '0'),
  )
  const digits = [hex, hex.toUpperCase()]
  return [
    ...base64,
    ...base64.map((one) => one.replaceAll('+', '-').replaceAll('/', '_')),
    ...digits,
    ...digits.map((one) => one.replaceAll(/../g, '%$&')),
    ...[units, units.map((one) => one.toUpperCase())].map((all) => all.map((one) => `\\u${one}`).join('')),
  ]
}

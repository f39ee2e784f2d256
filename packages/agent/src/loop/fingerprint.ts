import { createHash } from 'node:crypto'

/** SHA-256 in hex, cut to 32 digits, to compare texts. */
export function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

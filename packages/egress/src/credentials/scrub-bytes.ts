import type { Secret } from './secret.ts'

/** Overwrites the values of credentials in bytes that are not text, such as archives, without changing their length. */
export interface ByteScrub {
  /** The maximum length of a value, in bytes: as many bytes of a stream must be searched together. */
  readonly reachBytes: number
  /** Overwrites each value with stars, also in base64, in place. */
  clean(bytes: Buffer): void
}

/** Searches the value itself and its base64 from the start of a value; other spellings occur in text only. */
export function createByteScrub(secrets: readonly Secret[]): ByteScrub {
  const patterns = secrets.flatMap((secret) => {
    const bytes = Buffer.from(secret.reveal())
    // The last digits of base64 depend on the bytes after the value.
    return [bytes, Buffer.from(bytes.toString('base64').slice(0, Math.floor((bytes.length * 4) / 3)))]
  })
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

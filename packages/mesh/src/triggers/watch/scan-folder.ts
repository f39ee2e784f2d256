import type { FileStat } from './seen-files.ts'

export type ScanEnd =
  /** `leftOut`: there was more than one scan takes. */
  | { readonly kind: 'whole'; readonly leftOut: boolean }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly reason: string }

/**
 * Looks at every plain file right within `path` whose name matches `pattern`. Links are never followed: not one
 * entry leads out of the folder. Names are given as the disk has them, one character for each byte. `each` says whether
 * it has room for more. Never rejects but for the signal's reason.
 */
export type ScanFolder = (
  path: string,
  scan: {
    readonly pattern: string
    readonly each: (name: string, stat: FileStat) => boolean
    readonly signal: AbortSignal
  },
) => Promise<ScanEnd>

/** A name as text; bytes that are no UTF-8 show as the replacement character. Pure. */
export function nameAsText(name: string): string {
  // Most names are plain, and for those both spellings are one.
  return /[\u0080-\u00FF]/.test(name) ? Buffer.from(name, 'latin1').toString('utf8') : name
}

import type { FileStat } from './seen-files.ts'

export type ScanEnd =
  /** The folder was scanned. `leftOut`: there were more files than the scan accepted. */
  | { readonly kind: 'whole'; readonly leftOut: boolean }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly reason: string }

/**
 * Reads all plain files directly in `path` whose names match `pattern`. Links are not followed, so
 * that no entry leads out of the folder. Names are raw, one character per byte. `each` returns
 * whether the scan continues. Rejects only with the signal's reason.
 */
export type ScanFolder = (
  path: string,
  scan: {
    readonly pattern: string
    readonly each: (name: string, stat: FileStat) => boolean
    readonly signal: AbortSignal
  },
) => Promise<ScanEnd>

/** Returns a raw name as text. Invalid UTF-8 becomes the replacement character. Pure. */
export function nameAsText(name: string): string {
  // Most names are ASCII and need no conversion.
  return /[\u0080-\u00FF]/.test(name) ? Buffer.from(name, 'latin1').toString('utf8') : name
}

import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'

/** Maximum number of characters of a file that a page shows. */
const shownMaxChars = 200_000
/** Number of bytes that are searched for bytes that no text contains. */
const sampledBytes = 8192

export type ReadText =
  | { readonly kind: 'binary' }
  | { readonly kind: 'text'; readonly text: string; readonly cut: boolean }

/** Decodes bytes as UTF-8 text without invisible characters; reports bytes that are no text. Pure. */
export function readText(bytes: Uint8Array): ReadText {
  if (bytes.subarray(0, sampledBytes).includes(0)) return { kind: 'binary' }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const shown = sanitizeForPrompt(text.slice(0, shownMaxChars))
    return { kind: 'text', text: shown, cut: text.length > shownMaxChars }
  } catch {
    return { kind: 'binary' }
  }
}

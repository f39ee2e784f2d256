import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'

/** Characters of a file that a page draws. */
const shownMaxChars = 200_000
/** Bytes that are looked through for what no text has. */
const sampledBytes = 8192

export type ReadText =
  | { readonly kind: 'binary' }
  | { readonly kind: 'text'; readonly text: string; readonly cut: boolean }

/** What bytes say, where they are text in UTF-8, without what cannot be seen. Pure. */
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

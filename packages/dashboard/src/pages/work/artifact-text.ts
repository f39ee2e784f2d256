/** The maximum number of bytes of an artifact that a page shows; the download has all of it. */
export const artifactShownMaxBytes = 256 * 1024

export interface ArtifactText {
  /** Null if the bytes are no text. */
  readonly text: string | null
  /** There is more than is shown. */
  readonly cut: boolean
}

/**
 * Decodes the bytes of an artifact as text, whatever type they claim. An artifact of an agent may be hostile: SVG and
 * HTML are shown as source text and never rendered. Pure.
 */
export function artifactText(bytes: Uint8Array): ArtifactText {
  const cut = bytes.length > artifactShownMaxBytes
  // If the limit cuts a character, decoding as a stream leaves out its incomplete bytes.
  const shown = bytes.subarray(0, artifactShownMaxBytes)
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(shown, { stream: cut })
    return text.includes('\0') ? { text: null, cut: false } : { text, cut }
  } catch {
    return { text: null, cut: false }
  }
}

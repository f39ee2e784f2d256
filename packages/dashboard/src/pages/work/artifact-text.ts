/** Of one artifact that is shown on a page, bytes; the whole is in the download. */
export const artifactShownMaxBytes = 256 * 1024

export interface ArtifactText {
  /** Null where the bytes are no text. */
  readonly text: string | null
  /** There is more than is shown. */
  readonly cut: boolean
}

/**
 * The bytes as text, whatever they claim to be. What an agent saved is hostile: a picture in SVG or a page in HTML is shown
 * as it is written, and is never made into something that runs or loads. Pure.
 */
export function artifactText(bytes: Uint8Array): ArtifactText {
  const cut = bytes.length > artifactShownMaxBytes
  // Cut within a character, the rest of it is left out.
  const shown = bytes.subarray(0, artifactShownMaxBytes)
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(shown, { stream: cut })
    return text.includes('\0') ? { text: null, cut: false } : { text, cut }
  } catch {
    return { text: null, cut: false }
  }
}

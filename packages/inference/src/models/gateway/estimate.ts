import type { MediaBounds } from '../catalog/media-bounds.ts'
import type { PromptFound } from '../formats/prompt/prompt-found.ts'

/**
 * Returns an upper bound on the prompt tokens: a text token has at least one byte, a picture counts as its family's
 * maximum, and a prompt with a document as the whole window, which no answered prompt exceeds. `bodyBytes` is the
 * length of the JSON to send. Pure.
 */
export function promptTokensAtMost(prompt: PromptFound, bodyBytes: number, bounds: MediaBounds): number {
  const tokens =
    Math.max(0, bodyBytes - prompt.dataBytes) +
    prompt.images * bounds.imageTokens +
    prompt.toolTokens +
    bounds.addedTokens
  return prompt.documents === 0 ? tokens : Math.max(tokens, bounds.documentTokens ?? 0)
}

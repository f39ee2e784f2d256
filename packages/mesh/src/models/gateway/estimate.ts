import type { MediaBounds } from '../catalog/media-bounds.ts'
import type { PromptFound } from '../formats/prompt/prompt-found.ts'

/**
 * At least as many tokens as the prompt can have: a token of text is never shorter than a byte, a picture counts as its
 * family's maximum, and a prompt with a document in it as the whole window, which no prompt that is answered exceeds.
 * `bodyBytes` is the length of the JSON that goes out. Pure.
 */
export function promptTokensAtMost(prompt: PromptFound, bodyBytes: number, bounds: MediaBounds): number {
  const tokens =
    Math.max(0, bodyBytes - prompt.dataBytes) +
    prompt.images * bounds.imageTokens +
    prompt.toolTokens +
    bounds.addedTokens
  return prompt.documents === 0 ? tokens : Math.max(tokens, bounds.documentTokens ?? 0)
}

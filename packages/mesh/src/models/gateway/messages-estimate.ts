import type { JsonObject } from '@flotilla/protocol/json-value'
import type { PromptFound } from '../formats/prompt/prompt-found.ts'

/** Characters of a token in common text, and what a picture commonly counts. */
const charsPerToken = 4
const imageTokens = 1600

/** About as many tokens as a prompt has, for a provider that does not count them itself. Pure. */
export function messagesTokensAbout(parameters: JsonObject, prompt: PromptFound): number {
  const chars = JSON.stringify(parameters).length - prompt.dataBytes
  return Math.ceil(chars / charsPerToken) + (prompt.images + prompt.documents) * imageTokens
}

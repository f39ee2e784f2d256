import { setImmediate as breathe } from 'node:timers/promises'
import type { PromptMessage } from '../llm/language-model.ts'
import { imagesIn, imageTokens, textsOf } from './estimate-tokens.ts'

/**
 * The tokenizer takes time quadratic in the length of a piece without a break, so a hostile page could block
 * the process. Cutting in pieces makes the count at most one token too high for each cut.
 */
const pieceMaxChars = 400
const messageFrameTokens = 4
/** Characters that are counted before other work in the process gets its turn. */
const breatheAfterChars = 100_000

export interface TokenCounter {
  /** Counts with the tokenizer; each message is counted once in its lifetime. */
  count(messages: readonly PromptMessage[]): Promise<number>
}

type CountText = (text: string, options: { readonly disallowedSpecial: Set<string> }) => number

/** `load` imports the tokenizer; it is called with the first count. */
export function createTokenCounter(load: () => Promise<{ readonly countTokens: CountText }>): TokenCounter {
  const known = new WeakMap<PromptMessage, number>()
  const nothing = new Set<string>()
  return {
    count: async (messages) => {
      const { countTokens } = await load()
      let total = 0
      let charsSinceBreath = 0
      for (const message of messages) {
        let tokens = known.get(message)
        if (tokens === undefined) {
          tokens = messageFrameTokens + imagesIn(message) * imageTokens
          for (const text of textsOf(message)) {
            charsSinceBreath += text.length
            for (let at = 0; at < text.length; at += pieceMaxChars) {
              // Names of special tokens in a text count as text.
              tokens += countTokens(text.slice(at, at + pieceMaxChars), { disallowedSpecial: nothing })
            }
          }
          known.set(message, tokens)
        }
        total += tokens
        if (charsSinceBreath > breatheAfterChars) {
          charsSinceBreath = 0
          await breathe()
        }
      }
      return total
    },
  }
}

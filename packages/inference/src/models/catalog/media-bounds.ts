import { Problem } from '@flotilla/protocol/problem'
import type { ProviderSetup } from '../providers/provider-setup.ts'
import type { PromptFound } from '../formats/prompt/prompt-found.ts'
import { isOpenAi } from '../formats/openai-address.ts'

/** Upper bounds in tokens for content other than text; content without a bound (null) is rejected. */
export interface MediaBounds {
  /** The bound for one picture of any size. */
  readonly imageTokens: number
  /** The bound for a prompt that contains documents; null if there is no bound, so documents are rejected. */
  readonly documentTokens: number | null
  readonly takesSound: boolean
  /** Tokens that the provider adds before every prompt. */
  readonly addedTokens: number
}

/**
 * Picture tokens by model name; the first match counts, and the last row matches all. Claude counts at most 4784 at
 * its finest resolution. The highest count is a small OpenAI model's: 2833 plus 5667 for each of eight tiles, which
 * is 48,169. Qwen counts up to 16,384, OpenAI by patches 24,600, Gemini 2304, Llama and Grok less.
 */
const imageRows: readonly { readonly model: RegExp; readonly tokens: number }[] = [
  { model: /claude/i, tokens: 5000 },
  { model: /(?:)/, tokens: 50_000 },
]

/** The provider of Grok adds some hundreds of tokens before the first message and bills them. */
const addedRows: readonly { readonly model: RegExp; readonly tokens: number }[] = [
  { model: /grok/i, tokens: 2000 },
  { model: /(?:)/, tokens: 0 },
]

/** The document bound of a free model without a known window: documents cost no money, but count for run caps. */
const freeDocumentTokens = 200_000

interface BoundedModel {
  readonly model: string
  readonly setup: ProviderSetup
  /** True if the model costs nothing, however many tokens a call has. */
  readonly free: boolean
  readonly window: number | null
}

/**
 * The size of a PDF page in bytes bounds nothing, because compression may shrink a page a thousand times. But a
 * provider that reads documents as part of the prompt reads at most the model's window. Documents are rejected if a
 * tool of the provider reads them for a fee per page, or if the method is unknown. Sound is rejected because its
 * price differs from that of text. Pure.
 */
export function mediaBoundsOf({ model, setup, free, window }: BoundedModel): MediaBounds {
  const tokensIn = (rows: typeof imageRows) => rows.find((row) => row.model.test(model))?.tokens ?? 0
  return {
    imageTokens: tokensIn(imageRows),
    addedTokens: tokensIn(addedRows),
    documentTokens: free ? (window ?? freeDocumentTokens) : readsDocuments(setup) ? window : null,
    takesSound: free,
  }
}

function readsDocuments(setup: ProviderSetup): boolean {
  switch (setup.kind) {
    case 'anthropic':
    case 'google':
    case 'bedrock':
    case 'azure':
      return true
    case 'openai-compatible':
      return isOpenAi(setup.baseUrl)
    case 'mistral':
    case 'cohere':
    case 'scripted':
    case 'offline':
      return false
  }
}

/** Throws the Problem `bad-request` for content that this model counts without a bound. Pure. */
export function requireBounded(
  prompt: PromptFound,
  model: { readonly id: string; readonly media: MediaBounds },
): void {
  if (prompt.documents > 0 && model.media.documentTokens === null) {
    throw new Problem('bad-request', {
      detail: `messages: the maximum number of tokens that ${model.id} counts for a document is unknown; send the text of the document instead. If the provider reads documents itself, the owner sets models.*.context of the model in config/settings.json`,
    })
  }
  if (prompt.sounds > 0 && !model.media.takesSound) {
    throw new Problem('bad-request', {
      detail: `messages: the maximum number of tokens that ${model.id} counts for sound is unknown; send a transcript instead`,
    })
  }
}

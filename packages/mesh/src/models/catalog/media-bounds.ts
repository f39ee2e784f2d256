import { Problem } from '@flotilla/protocol/problem'
import type { ProviderSetup } from '../providers/provider-setup.ts'
import type { PromptFound } from '../formats/prompt/prompt-found.ts'

/**
 * Upper bound in tokens of what a model counts for content other than text; null for content without a bound, which
 * is rejected.
 */
export interface MediaBounds {
  /** One picture, whatever its size. */
  readonly imageTokens: number
  /** A prompt with documents in it. */
  readonly documentTokens: number | null
  readonly takesSound: boolean
  /** Tokens that the provider adds before every prompt. */
  readonly addedTokens: number
}

/**
 * By the names of models, the first that fits; the last is for all others. Claude takes at most 4784 for a picture of
 * its finest resolution. The dearest of all is a small model of OpenAI's, with 2833 and 5667 for each of eight tiles,
 * which is 48,169; Qwen's finest is 16,384, OpenAI's by patches 24,600, Gemini's 2304, Llama's and Grok's are less.
 */
const imageRows: readonly { readonly model: RegExp; readonly tokens: number }[] = [
  { model: /claude/i, tokens: 5000 },
  { model: /(?:)/, tokens: 50_000 },
]

/** Grok gets some hundreds of tokens before the first message, which are billed. */
const addedRows: readonly { readonly model: RegExp; readonly tokens: number }[] = [
  { model: /grok/i, tokens: 2000 },
  { model: /(?:)/, tokens: 0 },
]

/** For the caps of a run, where a document costs no money. */
const freeDocumentTokens = 200_000

interface BoundedModel {
  readonly model: string
  readonly setup: ProviderSetup
  /** Costs nothing, whatever it counts. */
  readonly free: boolean
  readonly window: number | null
}

/**
 * The bytes of a PDF page bound nothing, because it may be compressed a thousand times. But a provider that reads
 * documents as a part of the prompt reads no more than the model's window. Documents are rejected if a tool reads
 * them for a fee per page, or if the way is unknown. Sound is rejected because its price differs from that of text.
 * Pure.
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
      return new URL(setup.baseUrl).hostname === 'api.openai.com'
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
      detail: `messages: what ${model.id} counts for a document has no known bound; send its text, or let the owner write down the model's context in config/settings.json where its provider reads documents itself`,
    })
  }
  if (prompt.sounds > 0 && !model.media.takesSound) {
    throw new Problem('bad-request', {
      detail: `messages: what ${model.id} counts for sound has no known bound; send its words`,
    })
  }
}

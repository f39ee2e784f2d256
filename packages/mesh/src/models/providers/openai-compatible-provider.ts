import type { Secret } from '../../credentials/index.ts'
import type { LlmProvider } from './llm-provider.ts'
import { exchange } from './provider-exchange.ts'
import { openProviderPool } from './provider-pool.ts'
import type { ProviderTimeouts } from './provider-pool.ts'

export interface OpenAiCompatibleConfig {
  /** With its path, as in `https://api.openai.com/v1`. */
  readonly baseUrl: string
  /** Servers on one's own machine often want none. */
  readonly apiKey: Secret | null
  /** Only tests need others than the defaults. */
  readonly timeouts?: Partial<ProviderTimeouts>
}

/** Anybody who serves `POST <base>/chat/completions`, and `/embeddings` where it has models for them: OpenAI, Ollama, vLLM, llama.cpp and others. */
export function createOpenAiCompatibleProvider(config: OpenAiCompatibleConfig): LlmProvider {
  const base = new URL(config.baseUrl)
  const root = base.pathname.replace(/\/+$/, '')
  const paths = {
    chat: `${root}/chat/completions${base.search}`,
    embeddings: `${root}/embeddings${base.search}`,
  }
  const pool = openProviderPool(base.origin, config.timeouts)

  const plainHeaders = headersFor('application/json', config.apiKey)
  const streamHeaders = headersFor('text/event-stream', config.apiKey)

  return {
    forms: new Set(['chat', 'embeddings']),
    complete: (request, { signal }) =>
      exchange({
        pool,
        host: base.host,
        signal,
        request: {
          method: 'POST',
          path: request.form === 'embeddings' ? paths.embeddings : paths.chat,
          headers: request.stream ? streamHeaders() : plainHeaders(),
          body: request.body,
        },
      }),
    modelNames: async () => [],
    close: () => pool.destroy(),
  }
}

/** The key is revealed for each call, so that nothing but the vault keeps it. */
function headersFor(accept: string, apiKey: Secret | null): () => Record<string, string> {
  const fixed = { 'content-type': 'application/json', accept }
  return () => (apiKey === null ? fixed : { ...fixed, authorization: `Bearer ${apiKey.reveal()}` })
}

import type { TunnelProxy } from '../../platform/index.ts'
import type { Secret } from '../../credentials/index.ts'
import type { LlmProvider, ModelForm, ProviderRequest } from './llm-provider.ts'
import { exchange } from './provider-exchange.ts'
import { openProviderPool } from './provider-pool.ts'
import type { ProviderTimeouts } from './provider-pool.ts'

interface OpenAiCompatibleConfig {
  /** With its path, as in `https://api.openai.com/v1`. */
  readonly baseUrl: string
  /** Servers on one's own machine often want none. */
  readonly apiKey: Secret | null
  /** What its connections go through; none where left out. */
  readonly proxy?: TunnelProxy | null
  /** Only tests need others than the defaults. */
  readonly timeouts?: Partial<ProviderTimeouts>
}

/**
 * Any server of `POST <base>/chat/completions`, and of `/embeddings` and `/audio/transcriptions` if it has such
 * models: OpenAI, Groq, Ollama, vLLM, llama.cpp and others.
 */
export function createOpenAiCompatibleProvider(config: OpenAiCompatibleConfig): LlmProvider {
  const base = new URL(config.baseUrl)
  const root = base.pathname.replace(/\/+$/, '')
  const chatPath = `${root}/chat/completions${base.search}`
  const paths: Readonly<Partial<Record<ModelForm, string>>> = {
    embeddings: `${root}/embeddings${base.search}`,
    transcription: `${root}/audio/transcriptions${base.search}`,
  }
  const pool = openProviderPool(base.origin, config.timeouts, config.proxy)

  const plainHeaders = headersFor('application/json', config.apiKey)
  const streamHeaders = headersFor('text/event-stream', config.apiKey)

  function headersOf({ stream, contentType }: ProviderRequest): Record<string, string> {
    const headers = stream ? streamHeaders() : plainHeaders()
    return contentType === undefined ? headers : { ...headers, 'content-type': contentType }
  }

  return {
    forms: new Set(['chat', 'embeddings', 'transcription']),
    complete: (request, { signal }) =>
      exchange({
        pool,
        host: base.host,
        signal,
        request: {
          agentId: request.agentId,
          method: 'POST',
          path: paths[request.form] ?? chatPath,
          headers: headersOf(request),
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

import type { TunnelProxy } from '@flotilla/foundation/platform'
import type { Secret } from '@flotilla/egress/credentials'
import type { LlmProvider, ModelForm, ProviderRequest } from '../llm-provider.ts'
import { exchange } from './provider-exchange.ts'
import { openProviderPool } from './provider-pool.ts'
import type { ProviderTimeouts } from './provider-pool.ts'

interface OpenAiCompatibleConfig {
  /** The base address with its path, as in `https://api.openai.com/v1`. */
  readonly baseUrl: string
  /** Null for servers without a key, such as local ones. */
  readonly apiKey: Secret | null
  /** The proxy for the provider's connections; none if omitted. */
  readonly proxy?: TunnelProxy | null
  /** Only tests override the defaults. */
  readonly timeouts?: Partial<ProviderTimeouts>
}

/**
 * A provider for any server with `POST <base>/chat/completions`, and with `/embeddings` and `/audio/transcriptions`
 * if it has such models: OpenAI, Groq, Ollama, vLLM, llama.cpp and others.
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

/** Returns the headers of a call. The key is revealed per call, so that only the vault stores it. */
function headersFor(accept: string, apiKey: Secret | null): () => Record<string, string> {
  const fixed = { 'content-type': 'application/json', accept }
  return () => (apiKey === null ? fixed : { ...fixed, authorization: `Bearer ${apiKey.reveal()}` })
}

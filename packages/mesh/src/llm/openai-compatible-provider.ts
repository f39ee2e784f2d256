import { Pool } from 'undici'
import type { Secret } from '../vault/secret.ts'
import type { LlmProvider } from './llm-provider.ts'
import { exchange } from './provider-exchange.ts'

export interface OpenAiCompatibleConfig {
  /** With its path, as in `https://api.openai.com/v1`. */
  readonly baseUrl: string
  /** Servers on one's own machine often want none. */
  readonly apiKey: Secret | null
  /** Only tests need others than the defaults. */
  readonly timeouts?: Partial<ProviderTimeouts>
}

export interface ProviderTimeouts {
  readonly connectMs: number
  /** From the request to the first header; a call that is not streamed has its whole answer in this. */
  readonly headersMs: number
  /** Longest silence within the body. */
  readonly bodyIdleMs: number
}

export const providerTimeouts: ProviderTimeouts = {
  connectMs: 10_000,
  headersMs: 120_000,
  bodyIdleMs: 120_000,
}

/** Connections to one provider; further calls wait for a free one. */
const connectionsMax = 256
/** Below what load balancers commonly close at, so that a call does not meet a closing connection. */
const keepAliveMs = 30_000

/** Anybody who serves `POST <base>/chat/completions`: OpenAI, Ollama, vLLM, llama.cpp and others. */
export function createOpenAiCompatibleProvider(config: OpenAiCompatibleConfig): LlmProvider {
  const base = new URL(config.baseUrl)
  const timeouts = { ...providerTimeouts, ...config.timeouts }
  const path = `${base.pathname.replace(/\/+$/, '')}/chat/completions${base.search}`
  const pool = new Pool(base.origin, {
    connections: connectionsMax,
    keepAliveTimeout: keepAliveMs,
    connect: { timeout: timeouts.connectMs },
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.bodyIdleMs,
  })

  const plainHeaders = headersFor('application/json', config.apiKey)
  const streamHeaders = headersFor('text/event-stream', config.apiKey)

  return {
    complete: (request, { signal }) =>
      exchange({
        pool,
        host: base.host,
        signal,
        request: {
          method: 'POST',
          path,
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

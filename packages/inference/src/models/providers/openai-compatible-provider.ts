import type { TunnelProxy } from '@flotilla/foundation/platform'
import type { Secret } from '@flotilla/egress/credentials'
import { printedBody } from '../formats/json-body.ts'
import { isForeignReasoning } from '../formats/responses/response-reasoning.ts'
import type { LlmProvider, ModelForm, ProviderRequest } from '../llm-provider.ts'
import { calledHost, exchange } from './provider-exchange.ts'
import { openProviderPool } from './provider-pool.ts'
import type { ProviderTimeouts } from './provider-pool.ts'

interface OpenAiCompatibleConfig {
  /** The name of the provider in the settings, by which errors call it. */
  readonly name?: string
  /** The base address with its path, as in `https://api.openai.com/v1`. */
  readonly baseUrl: string
  /** Null for servers without a key, such as local ones. */
  readonly apiKey: Secret | null
  /** Whether the server has `POST <base>/responses` of its own; otherwise the mesh translates such calls. */
  readonly hasResponses?: boolean
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
    responses: `${root}/responses${base.search}`,
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
    forms: new Set<ModelForm>([
      'chat',
      'embeddings',
      'transcription',
      ...(config.hasResponses === true ? (['responses'] as const) : []),
    ]),
    complete: (request, { signal }) =>
      exchange({
        pool,
        host: calledHost(base, config.name),
        signal,
        request: {
          agentId: request.agentId,
          method: 'POST',
          path: paths[request.form] ?? chatPath,
          headers: headersOf(request),
          body: request.form === 'responses' ? withOwnReasoning(request) : request.body,
        },
      }),
    modelNames: async () => [],
    close: () => pool.destroy(),
  }
}

/** Removes reasoning that only the mesh can read, which a server would reject. Otherwise returns the same body. */
function withOwnReasoning({ parameters, body }: ProviderRequest): string | Uint8Array {
  const { input } = parameters
  if (!Array.isArray(input) || !input.some(isForeignReasoning)) return body
  const whole = printedBody({ body })
  const items = Array.isArray(whole['input']) ? whole['input'] : []
  return JSON.stringify({ ...whole, input: items.filter((item) => !isForeignReasoning(item)) })
}

/** Returns the headers of a call. The key is revealed per call, so that only the vault stores it. */
function headersFor(accept: string, apiKey: Secret | null): () => Record<string, string> {
  const fixed = { 'content-type': 'application/json', accept }
  return () => (apiKey === null ? fixed : { ...fixed, authorization: `Bearer ${apiKey.reveal()}` })
}

import { Problem } from '@flotilla/protocol/problem'
import { Pool } from 'undici'
import type { Secret } from '../vault/secret.ts'
import type { LlmProvider, ProviderReply } from './llm-provider.ts'

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

  return {
    async complete(request, { signal }) {
      try {
        const reply = await pool.request({
          method: 'POST',
          path,
          headers: {
            'content-type': 'application/json',
            accept: request.stream ? 'text/event-stream' : 'application/json',
            ...(config.apiKey === null ? {} : { authorization: `Bearer ${config.apiKey.reveal()}` }),
          },
          body: request.body,
          signal,
        })
        return {
          status: reply.statusCode,
          contentType: single(reply.headers['content-type']) ?? '',
          retryAfterSeconds: secondsOf(single(reply.headers['retry-after'])),
          body: readingBody(reply.body, signal),
          discard: () => reply.body.on('error', () => {}).destroy(),
        } satisfies ProviderReply
      } catch (error) {
        throw problemOf(error, { signal, host: base.host, isBegun: false })
      }
    },
    modelNames: async () => [],
    close: () => pool.destroy(),
  }

  async function* readingBody(
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    try {
      yield* body
    } catch (error) {
      throw problemOf(error, { signal, host: base.host, isBegun: true })
    }
  }
}

function problemOf(error: unknown, at: { signal: AbortSignal; host: string; isBegun: boolean }): unknown {
  if (at.signal.aborted) return at.signal.reason
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return new Problem('upstream-timeout', { detail: `${at.host} was silent for too long`, cause: error })
  }
  if (at.isBegun) {
    return new Problem('upstream-failed', { detail: `${at.host} broke off its answer`, cause: error })
  }
  return new Problem('provider-unreachable', {
    detail: `no answer from ${at.host}${code === '' ? '' : ` (${code})`}`,
    cause: error,
  })
}

function single(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null
}

/** Dates are not worth a clock here: a provider that names one is asked again at our own pace. */
function secondsOf(value: string | null): number | null {
  const seconds = value === null ? Number.NaN : Number(value)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null
}

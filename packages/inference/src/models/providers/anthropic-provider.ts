import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonAsWritten } from '@flotilla/foundation/intake'
import type { TunnelProxy } from '@flotilla/foundation/platform'
import type { Secret } from '@flotilla/egress/credentials'
import type { LlmProvider, ModelForm, ProviderRequest } from '../llm-provider.ts'
import { createClaudeWriter } from '../formats/claude/claude-writer.ts'
import { rewrittenBody } from './rewritten-body.ts'
import { calledHost, exchange } from './provider-exchange.ts'
import { openProviderPool } from './provider-pool.ts'
import type { ProviderTimeouts } from './provider-pool.ts'
import { ownBlock, sealPrefix } from '../formats/translate/reasoning-details.ts'
import { claudeFormat } from '../formats/answer/thoughts.ts'

interface AnthropicConfig {
  /** The name of the provider in the settings, to which the signatures of its thinking are bound. */
  readonly name?: string
  /** The base address with its path, as in `https://api.anthropic.com/v1`. */
  readonly baseUrl: string
  readonly apiKey: Secret | null
  /** Sends chat completions to the same models, by translation. */
  readonly chat: LlmProvider
  /** The proxy for the provider's connections; none if omitted. */
  readonly proxy?: TunnelProxy | null
  /** Only tests override the defaults. */
  readonly timeouts?: Partial<ProviderTimeouts>
}

/** The version of Anthropic's API that this file implements. */
const apiVersion = '2023-06-01'

const paths: Partial<Record<ModelForm, string>> = {
  messages: '/messages',
  'token-count': '/messages/count_tokens',
}

/**
 * Anthropic, or a server with the same `POST <base>/messages`. Requests pass byte for byte, and so does each event
 * of an answer that official clients can read (`claude-writer.ts`).
 */
export function createAnthropicProvider(config: AnthropicConfig): LlmProvider {
  const base = new URL(config.baseUrl)
  const root = base.pathname.replace(/\/+$/, '')
  const pool = openProviderPool(base.origin, config.timeouts, config.proxy)

  return {
    forms: new Set(['messages', 'token-count', ...config.chat.forms]),
    async complete(request, options) {
      const path = paths[request.form]
      if (path === undefined) return await config.chat.complete(request, options)
      const { betas = [] } = request
      const reply = await exchange({
        pool,
        host: calledHost(base, config.name),
        signal: options.signal,
        request: {
          agentId: request.agentId,
          method: 'POST',
          path: `${root}${path}${base.search}`,
          headers: {
            'content-type': 'application/json',
            accept: request.stream ? 'text/event-stream' : 'application/json',
            'anthropic-version': apiVersion,
            ...(betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
            // The key is revealed per call, so that only the vault stores it.
            ...(config.apiKey === null ? {} : { 'x-api-key': config.apiKey.reveal() }),
          },
          body: request.form === 'messages' ? withOwnThinking(request, config.name ?? '') : request.body,
        },
      })
      if (request.form !== 'messages' || reply.status !== 200) return reply
      const secrets = config.apiKey === null ? [] : [config.apiKey]
      const { stream } = request
      const seal = sealPrefix({ format: claudeFormat, from: config.name ?? '' })
      const writer = createClaudeWriter({ stream, keepsUnknown: true, secrets, seal })
      return {
        ...reply,
        contentType: stream ? 'text/event-stream' : 'application/json',
        body: rewrittenBody(reply.body, writer, stream ? { spend: options.spend } : options),
      }
    },
    modelNames: async () => [],
    async close() {
      await Promise.all([pool.destroy(), config.chat.close()])
    },
  }
}

/**
 * Removes thinking of other providers from earlier messages, because a provider rejects thinking that it has not
 * signed, and restores the signatures of this provider. Otherwise returns the same body.
 */
function withOwnThinking({ parameters, body }: ProviderRequest, name: string): string | Uint8Array {
  const { messages } = parameters
  if (!Array.isArray(messages)) return body
  const blocksOf = (message: JsonValue) =>
    isJsonObject(message) && Array.isArray(message['content']) ? message['content'] : []
  const owned = (block: JsonValue) => (isJsonObject(block) ? ownBlock(block, name) : block)
  if (messages.every((message) => blocksOf(message).every((block) => owned(block) === block))) return body
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  // The body is printed again, so numbers must keep their digits.
  const whole = readJsonAsWritten(text, jsonLimits.modelBody) as JsonObject
  const clean = (whole['messages'] as JsonValue[]).flatMap((message): JsonValue[] => {
    const blocks = blocksOf(message)
    if (!isJsonObject(message) || blocks.length === 0) return [message]
    const content = blocks.map(owned).filter((block) => block !== null)
    return content.length === 0 ? [] : [{ ...message, content }]
  })
  return JSON.stringify({ ...whole, messages: clean })
}

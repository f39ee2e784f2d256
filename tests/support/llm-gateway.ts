import type { Clock } from '@flotilla/protocol/clock'
import { agentScope, utcDay } from '../../packages/inference/src/spending/sum-scopes.ts'
import { createServer } from '../../packages/identity/src/http/server.ts'
import { openAgents } from '../../packages/identity/src/http/open-surfaces.ts'
import type { Guard } from '../../packages/identity/src/access/action.ts'
import { createAgentGate } from '../../packages/identity/src/http/gates/agent-gate.ts'
import { modelRoutes } from '../../packages/inference/src/models/gateway/model.routes.ts'
import { chatFormat } from '../../packages/inference/src/models/formats/chat-format.ts'
import { createComplete } from '../../packages/inference/src/models/gateway/complete.ts'
import {
  countOfContents,
  countOfMessages,
  createCountTokens,
} from '../../packages/inference/src/models/gateway/count-tokens.ts'
import { embeddingsFormat } from '../../packages/inference/src/models/formats/embeddings-format.ts'
import { contentsFormat } from '../../packages/inference/src/models/formats/contents/contents-format.ts'
import { createListModels } from '../../packages/inference/src/models/gateway/list-models.ts'
import { messagesFormat } from '../../packages/inference/src/models/formats/messages-format.ts'
import { responsesFormat } from '../../packages/inference/src/models/formats/responses/responses-format.ts'
import type { FetchMedia } from '../../packages/inference/src/models/gateway/remote-media.ts'
import { silentLog } from '../../packages/foundation/src/platform/log.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { freeShares } from './free-shares.ts'
import { aModelPath } from './model-harness.ts'
import { asOpenAi } from './as-openai.ts'
import type { LlmUpstream } from './llm-upstream.ts'
import type { WireKind } from './model-wires.ts'
import { startWireUpstream } from './wire-upstream.ts'

/** The agent token of scout: with it the caller is the agent process itself and not one of its programs. */
export const doorTokenOfScout = 'scout-door'

export interface LlmGatewayUnderTest {
  /** Base URL without the version, as Anthropic's client expects it. */
  readonly rootUrl: string
  readonly upstream: LlmUpstream
  spentNano(): number
  /** Simulates that the owner stored a new key in the vault: every model may be tried again. */
  newKey(): void
  close(): Promise<void>
}

/** Waits are fifty times shorter, so that the outcome of a retried refusal arrives soon. */
const hasty: Clock = {
  now: systemClock.now,
  sleep: (ms, signal) => systemClock.sleep(ms / 50, signal),
}

const price = { input_per_mtok: 3, output_per_mtok: 15 }

/** The real model surface with one provider behind it; the token of an agent is its id, `scout`. */
export async function startLlmGateway(
  wire: WireKind,
  model: string,
  options: {
    readonly dailyUsd?: number
    readonly models?: readonly string[]
    readonly settings?: object
    /** The gate's check of what a call needs, when method and path decide that. */
    readonly guard?: Guard
    readonly fetchMedia?: FetchMedia
    /** Settings of the provider's models, beside those that are needed to reach it. */
    readonly modelSettings?: object
    /** The silence after which a stream gets a sign of life. */
    readonly keepAliveMs?: number
  } = {},
): Promise<LlmGatewayUnderTest> {
  const upstream = await startWireUpstream(wire)
  const openAi = wire === 'responses' ? await asOpenAi(upstream.baseUrl) : null
  const provider = model.slice(0, model.indexOf('/'))
  const known = ['anthropic', 'google', 'mistral', 'cohere', 'bedrock', 'azure'].includes(provider)
  const kind = known ? provider : 'openai-compatible'
  const region = provider === 'bedrock' ? { region: 'us-east-1' } : {}
  const parts = aModelPath({
    key: 'sk-upstream-key-0123456789',
    agentModel: model,
    readOnLimits: { maxMs: 200 },
    ...(openAi === null ? {} : { proxies: openAi.proxies }),
    ...(options.dailyUsd === undefined ? {} : { dailyUsd: options.dailyUsd }),
    settings: {
      default_model: model,
      providers: {
        [provider]: {
          kind,
          base_url: openAi?.baseUrl ?? upstream.baseUrl,
          api_key: 'openai_api_key',
          ...region,
        },
      },
      models: { [model]: { price, ...options.modelSettings } },
      agents: { scout: { models: options.models ?? [] } },
      ...options.settings,
    },
  })
  const { fetchMedia = parts.deps.fetchMedia } = options
  const { keepAliveMs } = options
  const deps = {
    ...parts.deps,
    clock: hasty,
    fetchMedia,
    ...(keepAliveMs === undefined ? {} : { keepAliveMs }),
  }
  const server = createServer(silentLog)
  const use = {
    complete: createComplete(deps, chatFormat),
    messages: createComplete(deps, messagesFormat),
    responses: createComplete(deps, responsesFormat),
    embeddings: createComplete(deps, embeddingsFormat),
    contents: createComplete(deps, contentsFormat),
    countTokens: createCountTokens(deps, countOfMessages),
    countContents: createCountTokens(deps, countOfContents),
    listModels: createListModels(deps),
  }
  const gate = createAgentGate({
    verifyToken: (token) => {
      if (token === doorTokenOfScout) return { agentId: 'scout', token: 'door' }
      return token === 'scout' ? { agentId: token, token: 'program' } : null
    },
    ticketOf: (agentId, runId, fence) => ({ agentId, runId, fence }) as never,
    readingOn: () => 0,
    countCall: () => {},
    guard: options.guard ?? (() => {}),
    ...freeShares(),
    liveRunOf: (agentId) => ({ runId: 'run_0000000000000001', agentId, fence: 1 }) as never,
  })
  // Model calls are not deduplicated by an idempotency key.
  openAgents(server, [{ routes: { models: (surface) => modelRoutes(surface, use) } }], {
    gate,
    effects: {} as never,
  })
  const rootUrl = await server.listen({ port: 0, host: '127.0.0.1' })
  return {
    rootUrl,
    upstream,
    newKey: parts.newKey,
    spentNano: () => parts.spent(agentScope('scout'), utcDay(systemClock.now())).spentNano,
    close: async () => {
      await server.close()
      await parts.close()
      await upstream.close()
      await openAi?.close()
    },
  }
}

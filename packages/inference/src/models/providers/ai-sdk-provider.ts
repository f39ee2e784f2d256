import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { TunnelProxy } from '@flotilla/foundation/platform'
import type { Secret } from '@flotilla/egress/credentials'
import { createChatChunks } from './ai-sdk/chat-from-parts.ts'
import { chatFromResult } from './ai-sdk/chat-from-result.ts'
import { readSdkRequest } from './ai-sdk/chat-request.ts'
import { embedWithSdk } from './ai-sdk/embed-with-sdk.ts'
import { loadSdk } from './ai-sdk/load-sdk.ts'
import type { SdkAccess, SdkModels } from './ai-sdk/load-sdk.ts'
import { optionsFromChat } from './ai-sdk/options-from-chat.ts'
import { problemIn, refusalIn } from './ai-sdk/sdk-failure.ts'
import { createSdkFetch, fetchingFor } from './ai-sdk/sdk-fetch.ts'
import type { AnswerWriters } from './ai-sdk/sdk-fetch.ts'
import { sdkRules } from './ai-sdk/sdk-rules.ts'
import type { SdkRules } from './ai-sdk/sdk-rules.ts'
import { createToolNames } from './ai-sdk/tool-names.ts'
import type { JudgeError, LlmProvider, ModelForm, ProviderReply, ProviderRequest } from '../llm-provider.ts'
import { createBedrockStream } from '../formats/bedrock/bedrock-stream.ts'
import { createBedrockWriter } from '../formats/bedrock/bedrock-writer.ts'
import { createClaudeWriter } from '../formats/claude/claude-writer.ts'
import { createGoogleWriter } from '../formats/google/google-writer.ts'
import { responseUsageFrom } from '../formats/responses/response-usage.ts'
import { isLaterGpt } from '../formats/deferred-tools.ts'
import { createItemsWriter } from '../formats/items/items-writer.ts'
import { isRecord } from '../formats/empty-answer.ts'
import { cohereForm } from '../formats/packaged/cohere-form.ts'
import { azureForm, mistralForm } from '../formats/packaged/chat-forms.ts'
import { createPackagedWriter } from '../formats/packaged/packaged-writer.ts'
import type { PackagedForm } from '../formats/packaged/packaged-writer.ts'
import { badRequest, printedBody } from '../formats/json-body.ts'
import { spendIn } from '../wire/collect-reply.ts'
import { openProviderPool } from './provider-pool.ts'
import type { ProviderTimeouts } from './provider-pool.ts'

interface AiSdkConfig extends SdkAccess {
  /** The name of the provider in the settings. */
  readonly name?: string
  readonly clock: Clock
  readonly newId: NewId
  /** The proxy for the provider's connections; none if omitted. */
  readonly proxy?: TunnelProxy | null
  /** Only tests override the defaults. */
  readonly timeouts?: Partial<ProviderTimeouts>
}

/**
 * A provider with an own API, through its package of the AI SDK: chat completions are translated for the package, and
 * its answers back. The first call loads the package, which connects only through the mesh's transport.
 */
export function createAiSdkProvider(config: AiSdkConfig): LlmProvider {
  const base = new URL(config.baseUrl)
  const pool = openProviderPool(base.origin, config.timeouts, config.proxy)
  const secrets = secretsOf(config)
  const fetch = createSdkFetch(
    pool,
    base,
    writersBy[config.kind]?.(secrets, () => config.newId('call')) ?? null,
  )
  let loading: Promise<SdkModels> | null = null
  const forms: ModelForm[] = isForChatAlone(config.kind) ? ['chat'] : ['chat', 'embeddings']

  return {
    forms: new Set(forms),
    async complete(request, options) {
      const { signal } = options
      signal.throwIfAborted()
      requirePlainName(request.model)
      try {
        const models = await (loading ??= loadSdk(config, fetch))
        signal.throwIfAborted()
        const call = { request, signal, secrets, host: base.host, judge: options.judge }
        const ask = () =>
          request.form === 'embeddings' ? embedWithSdk(models, request, signal) : chat(config, models, call)
        const answerForm = request.form === 'embeddings' ? null : request.stream ? 'stream' : 'whole'
        const { agentId } = request
        return await fetchingFor({ agentId, bounds: options, asked: answerForm }, () => spendIn(options, ask))
      } catch (error) {
        if (signal.aborted) throw signal.reason
        const refusal = refusalIn(error)
        if (refusal) return refusal
        throw problemIn(error, base.host, secrets)
      }
    },
    modelNames: async () => [],
    close: () => pool.destroy(),
  }
}

/** Anthropic has no embeddings, and OpenAI's are asked without a translation. */
function isForChatAlone(kind: SdkAccess['kind']): boolean {
  return kind === 'anthropic' || kind === 'openai'
}

type MakeWriters = (secrets: readonly Secret[], newId: () => string) => AnswerWriters

/** Returns the writers for a package by the reader of chat completions. */
function packagedBy(form: PackagedForm): MakeWriters {
  return (secrets, newId) => ({
    text: (options) => createPackagedWriter(form, { ...options, secrets, newId }),
  })
}

/** Per kind, the reader of all forms of an answer; the packages accept only the documented form. */
const writersBy: Readonly<Partial<Record<SdkAccess['kind'], MakeWriters>>> = {
  anthropic: (secrets) => ({
    text: ({ stream }) => createClaudeWriter({ stream, secrets, keepsUnknown: false }),
  }),
  google: (secrets) => ({ text: ({ stream }) => createGoogleWriter({ stream, secrets }) }),
  openai: (secrets) => ({
    text: ({ stream, billed }) =>
      createItemsWriter({
        stream,
        secrets,
        billed: (usage) => {
          const read = responseUsageFrom(usage)
          if (read !== null) billed?.(read)
        },
      }),
  }),
  mistral: packagedBy(mistralForm),
  cohere: packagedBy(cohereForm),
  azure: packagedBy(azureForm),
  bedrock: (secrets) => ({
    text: () => createBedrockWriter({ secrets }),
    binary: () => createBedrockStream({ secrets }),
  }),
}

/** Packages put the model name into the request path, so it must not lead to another path. */
function requirePlainName(model: string): void {
  if (/^[\w.:@/+-]{1,200}$/.test(model) && !model.includes('..')) return
  throw badRequest(`model: ${model.slice(0, 100)} is not the name of a model`)
}

interface Call {
  readonly request: ProviderRequest
  readonly signal: AbortSignal
  readonly secrets: readonly Secret[]
  readonly host: string
  readonly judge: JudgeError | undefined
}

async function chat(config: AiSdkConfig, models: SdkModels, call: Call): Promise<ProviderReply> {
  const { request, signal } = call
  const rules: SdkRules = {
    ...sdkRules[config.kind],
    ...(config.name ? { name: config.name } : {}),
    // OpenAI asks for the phases from GPT-5.3 Codex on, and refuses them for older models.
    ...(config.kind === 'openai' && isLaterGpt(request.model) ? { hasPhases: true as const } : {}),
  }
  // Reads the body and not `parameters`, because only the body contains the bound on the answer.
  const parsed = readSdkRequest(printedBody(request))
  const names = createToolNames(
    rules,
    [...(parsed.tools ?? []), ...(parsed.deferred_tools ?? [])].flatMap((tool) => tool.function?.name ?? []),
  )
  const options = {
    ...optionsFromChat(parsed, {
      kind: config.kind,
      rules,
      names,
      thinksByEffort: models.thinksByEffort(request.model),
    }),
    abortSignal: signal,
  }
  const head = {
    id: config.newId('msg'),
    model: request.model,
    createdSeconds: Math.floor(config.clock.now() / 1000),
  }
  const model = models.language(request.model)
  if (!request.stream) {
    const result = await model.doGenerate(options)
    return replyOf('application/json', pieces([chatFromResult(result, { head, rules, names })]))
  }
  const { stream } = await model.doStream(options)
  const chunks = createChatChunks({ head, rules, names })
  const body = streamed(stream, chunks, call)
  return {
    ...replyOf('text/event-stream', body),
    discard: () => void stream.cancel().catch(() => {}),
  }
}

async function* streamed(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  chunks: ReturnType<typeof createChatChunks>,
  { signal, secrets, host, judge }: Call,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const part of stream) {
      signal.throwIfAborted()
      const text = chunks.take(part)
      if (text !== '') yield Buffer.from(text)
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw judgedError(error, judge) ?? problemIn(error, host, secrets)
  }
  signal.throwIfAborted()
  if (!chunks.hasEnded()) {
    throw new Problem('upstream-failed', { detail: `${host} ended its answer early` })
  }
}

/** Classifies the error in an event of the stream, as the provider wrote it; null for an error of the package. */
function judgedError(error: unknown, judge: JudgeError | undefined): Problem | null {
  return isRecord(error) && !(error instanceof Error) ? (judge?.({ error }) ?? null) : null
}

function replyOf(contentType: string, body: AsyncIterable<Uint8Array>): ProviderReply {
  return { status: 200, contentType, retryAfterSeconds: null, body, discard: () => {} }
}

async function* pieces(texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

function secretsOf({ apiKey, aws }: SdkAccess): readonly Secret[] {
  return [apiKey, aws?.accessKeyId, aws?.secretAccessKey, aws?.sessionToken].flatMap((one) => one ?? [])
}

import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { badRequest } from '../../formats/json-body.ts'
import { findToolName } from '@flotilla/protocol/findable-tools'
import type { SdkChatRequest, SdkTool } from './chat-request.ts'
import { deferredInChat } from './deferred-in-chat.ts'
import { marked, promptFromChat } from './prompt-from-chat.ts'
import type { SdkKind, SdkRules } from './sdk-rules.ts'
import type { ToolNames } from './tool-names.ts'
import { thinkingRoom } from './thinking-room.ts'
import type { ThinkingRoom } from './thinking-room.ts'
import { isStrictSchema } from '../../formats/translate/strict-schema.ts'
import { fitAnswerSchema, fitToolSchema } from '../../formats/tool-schema.ts'

interface OptionsAt {
  readonly kind: SdkKind
  readonly rules: SdkRules
  readonly names: ToolNames
  /** True if the model takes a reasoning effort instead of a thinking budget in tokens. */
  readonly thinksByEffort: boolean
}

/** Converts a chat completion for the AI SDK. Throws the Problem `bad-request` for unsupported members. Pure. */
export function optionsFromChat(request: SdkChatRequest, at: OptionsAt): LanguageModelV4CallOptions {
  const { rules, names } = at
  const { tools, deferred, referred } = deferredInChat(request)
  const found = rules.hasItems === true && request.deferred_tools ? definitionsOf(deferred, at) : null
  const stop = typeof request.stop === 'string' ? [request.stop] : request.stop
  const room = thinkingRoom(
    {
      bound: request.max_completion_tokens ?? request.max_tokens ?? null,
      budget: request.reasoning?.max_tokens ?? null,
      effort: request.reasoning_effort ?? request.reasoning?.effort ?? null,
      isOff: request.reasoning?.enabled === false,
    },
    at,
  )
  return present<LanguageModelV4CallOptions>({
    prompt: promptFromChat(request.messages, { rules, names, referredIn: referred, found }),
    maxOutputTokens: room.maxOutputTokens,
    temperature: request.temperature,
    topP: request.top_p,
    topK: request.top_k,
    stopSequences: stop,
    seed: request.seed,
    presencePenalty: request.presence_penalty,
    frequencyPenalty: request.frequency_penalty,
    tools:
      tools.length > 0
        ? [
            ...tools.map((tool) =>
              found !== null && tool.function?.name === findToolName
                ? searchOf(tool, names)
                : toolOf(tool, rules, names),
            ),
            // With items, a result contains the definitions that it found.
            ...(found === null ? deferred : []).map((tool) => ({
              ...toolOf(tool, rules, names),
              ...isDeferred,
            })),
          ]
        : null,
    toolChoice: tools.length > 0 ? toolChoiceOf(request.tool_choice, names) : null,
    responseFormat: responseFormatOf(request.response_format, rules),
    reasoning: room.effort,
    providerOptions: ownOptions(request, at, room),
  })
}

/** The search tool as a search of the provider that the client executes, with the same arguments. */
function searchOf(
  { function: called }: SdkTool,
  names: ToolNames,
): NonNullable<LanguageModelV4CallOptions['tools']>[number] {
  const { description, parameters } = called ?? {}
  return {
    type: 'provider',
    id: 'openai.tool_search',
    name: names.out(findToolName),
    args: { execution: 'client', description: description ?? '', parameters: parameters ?? {} },
  }
}

/** Returns the found tools by name, in the form in which a result of the provider's tool search defines them. */
function definitionsOf(
  deferred: readonly SdkTool[],
  { rules, names }: OptionsAt,
): ReadonlyMap<string, JsonObject> {
  return new Map(
    deferred.flatMap(({ function: called }) => {
      if (!called) return []
      const { name, description, parameters } = called
      const definition: JsonObject = {
        type: 'function',
        name: names.out(name),
        ...(description ? { description } : {}),
        parameters: fitToolSchema((parameters ?? {}) as JsonValue, rules.plainSchemas),
        strict: false,
        defer_loading: true,
      }
      return [[name, definition] as const]
    }),
  )
}

/** A deferred tool has no cache mark: the provider rejects both on one tool. */
const isDeferred = { providerOptions: { anthropic: { deferLoading: true } } } as const

function toolOf(
  tool: SdkTool,
  rules: SdkRules,
  names: ToolNames,
): NonNullable<LanguageModelV4CallOptions['tools']>[number] {
  if (tool.type !== 'function' || !tool.function) {
    throw badRequest(`tools: a tool of type ${tool.type} cannot be given to this model`)
  }
  const { name, description, parameters, strict } = tool.function
  // The value was JSON before zod parsed it; the package takes any JSON Schema.
  const schema = fitToolSchema((parameters ?? {}) as JsonValue, rules.plainSchemas)
  return {
    type: 'function',
    name: names.out(name),
    ...(description ? { description } : {}),
    inputSchema: schema as object,
    ...(strict === true && isStrictSchema(schema, rules.strictMode) ? { strict } : {}),
    ...marked(tool, rules),
  }
}

function toolChoiceOf(
  choice: SdkChatRequest['tool_choice'],
  names: ToolNames,
): LanguageModelV4CallOptions['toolChoice'] | null {
  if (choice === null || choice === undefined) return null
  if (typeof choice === 'string') return { type: choice }
  return { type: 'tool', toolName: names.out(choice.function.name) }
}

function responseFormatOf(
  format: SdkChatRequest['response_format'],
  rules: SdkRules,
): LanguageModelV4CallOptions['responseFormat'] | null {
  if (format?.type === 'json_object') return { type: 'json' }
  if (format?.type !== 'json_schema') return null
  const { schema, name, description } = format.json_schema ?? {}
  return {
    type: 'json',
    ...(schema ? { schema: fitAnswerSchema(schema as JsonValue, rules.plainSchemas) as object } : {}),
    ...(name ? { name } : {}),
    ...(description ? { description } : {}),
  }
}

interface Asked {
  /** The thinking budget in tokens. */
  readonly budget: number | null
  readonly thinks: boolean
  /** True if the model may make at most one tool call in a turn. */
  readonly oneCall: boolean
  readonly user: string | null
  readonly request: SdkChatRequest
}

/** Options that the AI SDK does not unify, by provider. */
const ownWords: Readonly<Record<SdkKind, (requested: Asked) => Readonly<Record<string, JsonValue | null>>>> =
  {
    anthropic: ({ budget, oneCall, user }) => ({
      thinking: budget === null ? null : { type: 'enabled', budgetTokens: budget },
      disableParallelToolUse: oneCall ? true : null,
      metadata: user === null ? null : { userId: user },
    }),
    google: ({ budget, thinks }) => ({
      thinkingConfig:
        budget === null && !thinks
          ? null
          : { includeThoughts: true, ...(budget === null ? {} : { thinkingBudget: budget }) },
    }),
    bedrock: ({ budget }) => ({
      reasoningConfig: budget === null ? null : { type: 'enabled', budgetTokens: budget },
    }),
    cohere: ({ budget }) => ({ thinking: budget === null ? null : { type: 'enabled', tokenBudget: budget } }),
    mistral: ({ oneCall }) => ({ parallelToolCalls: oneCall ? false : null }),
    azure: ({ oneCall, user }) => ({ parallelToolCalls: oneCall ? false : null, user }),
    openai: ({ oneCall, user, request }) => ({
      // Nothing is stored at OpenAI, so the thinking comes encrypted, and the conversation is sent whole.
      store: false,
      parallelToolCalls: oneCall ? false : null,
      user,
      promptCacheKey: request.prompt_cache_key ?? null,
      promptCacheOptions: request.prompt_cache_options ? { mode: request.prompt_cache_options.mode } : null,
      strictJsonSchema: request.response_format?.json_schema?.strict === true,
    }),
  }

function ownOptions(
  request: SdkChatRequest,
  { kind, rules }: OptionsAt,
  room: ThinkingRoom,
): SharedV4ProviderOptions | null {
  const own = present<JsonObject>(
    ownWords[kind]({
      budget: room.budget,
      thinks: room.effort !== null && room.effort !== 'none',
      oneCall: request.parallel_tool_calls === false,
      user: request.user ?? null,
      request,
    }),
  )
  // The package asks for summaries where none is stated, and OpenAI refuses them to accounts that are not verified.
  if (rules.hasItems === true) return { [rules.options]: { ...own, reasoningSummary: null } }
  return Object.keys(own).length === 0 ? null : { [rules.options]: own }
}

/** Removes fields without a value. */
function present<Wanted>(fields: { readonly [Key in keyof Wanted]: Wanted[Key] | null | undefined }): Wanted {
  const entries = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(entries) as Wanted
}

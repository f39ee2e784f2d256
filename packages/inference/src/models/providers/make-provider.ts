import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { ProxyRules } from '@flotilla/foundation/config'
import type { Log, TunnelProxy } from '@flotilla/foundation/platform'
import { createAiSdkProvider } from './ai-sdk-provider.ts'
import { createAnthropicProvider } from './anthropic-provider.ts'
import { createHashedWordsProvider } from './hashed-words-provider.ts'
import { learningProvider } from './learn-refused.ts'
import type { LlmProvider } from '../llm-provider.ts'
import { createOpenAiCompatibleProvider } from './openai-compatible-provider.ts'
import { createOpenAiProvider } from './openai-provider.ts'
import { boundFieldAt } from './provider-setup.ts'
import type { ProviderSetup } from './provider-setup.ts'
import { isOpenAi } from '../formats/openai-address.ts'
import { fitChat } from '../formats/translate/fit-chat.ts'
import { requireFewTools, toolLimitsOf } from '../formats/translate/tool-limits.ts'
import { formsOverChat } from './forms-over-chat.ts'

/** `name` is the provider's name in the settings. */
export type MakeProvider = (setup: ProviderSetup, name?: string) => LlmProvider

export interface MakeProviderDeps {
  readonly clock: Clock
  readonly newId: NewId
  readonly makeScripted: (config: { readonly cassette: string | null }) => LlmProvider
  /** The proxy rules by address; no proxy if omitted. */
  readonly proxies?: Pick<ProxyRules, 'of'>
  readonly log?: Pick<Log, 'warn'>
  /** Wraps every chat provider, to record its calls. */
  readonly listen?: (provider: LlmProvider) => LlmProvider
}

/** Creates the adapter for a setup, with all forms that translation can add. */
export function createMakeProvider(deps: MakeProviderDeps): MakeProvider {
  const withListener = deps.listen ?? ((provider: LlmProvider) => provider)
  const listen = (provider: LlmProvider) => withListener(learningProvider(provider, deps))
  return (setup, name = '') => {
    const proxy = proxyOf(deps, setup)
    switch (setup.kind) {
      case 'scripted':
        return formsOverChat(withListener(deps.makeScripted(setup)), { clock: deps.clock })
      case 'offline':
        return createHashedWordsProvider()
      case 'openai-compatible': {
        const boundField = boundFieldAt(setup.baseUrl)
        const tools = toolLimitsOf(setup)
        const isOwn = isOpenAi(setup.baseUrl)
        const direct = createOpenAiCompatibleProvider({ ...setup, proxy, name, hasResponses: isOwn })
        const { extras } = setup
        // The adapter of OpenAI itself sends thinking by the API that takes it, and removes it from other calls.
        const fitted = isOwn ? { ...extras, thinking: 'reasoning_details' as const } : extras
        return formsOverChat(listen(isOwn ? openAiOver(direct, deps, { setup, proxy, name }) : direct), {
          clock: deps.clock,
          from: name,
          fit: (request) => fitChat(request, { ...fitted, boundField, provider: name, tools }),
          usage: setup.usage,
          secrets: setup.apiKey === null ? [] : [setup.apiKey],
        })
      }
      case 'anthropic': {
        const chat = createAiSdkProvider({ ...setup, ...deps, proxy, name })
        return formsOverChat(createAnthropicProvider({ ...setup, proxy, name, chat: listen(chat) }), {
          clock: deps.clock,
          from: name,
          secrets: setup.apiKey === null ? [] : [setup.apiKey],
        })
      }
      case 'google':
      case 'mistral':
      case 'cohere':
      case 'bedrock':
      case 'azure':
        return formsOverChat(listen(createAiSdkProvider({ ...setup, ...deps, proxy, name })), {
          clock: deps.clock,
          from: name,
          fit: (request) => requireFewTools(request, toolLimitsOf(setup).max, name),
        })
    }
  }
}

function openAiOver(
  direct: LlmProvider,
  deps: MakeProviderDeps,
  {
    setup: { baseUrl, apiKey },
    ...at
  }: {
    readonly setup: Extract<ProviderSetup, { kind: 'openai-compatible' }>
    readonly proxy: TunnelProxy | null
    readonly name: string
  },
): LlmProvider {
  const byResponses = createAiSdkProvider({ kind: 'openai', baseUrl, apiKey, ...deps, ...at })
  return createOpenAiProvider({ direct, byResponses, clock: deps.clock, log: deps.log })
}

/** Returns the proxy for a provider; null for a provider without an address, and for a direct connection. Pure. */
export function proxyOf(
  { proxies }: Pick<MakeProviderDeps, 'proxies'>,
  setup: ProviderSetup,
): TunnelProxy | null {
  return 'baseUrl' in setup ? (proxies?.of(new URL(setup.baseUrl)) ?? null) : null
}

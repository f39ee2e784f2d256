import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { createAiSdkProvider } from './ai-sdk-provider.ts'
import { createAnthropicProvider } from './anthropic-provider.ts'
import { createHashedWordsProvider } from './hashed-words-provider.ts'
import type { LlmProvider } from './llm-provider.ts'
import { createOpenAiCompatibleProvider } from './openai-compatible-provider.ts'
import { boundFieldAt } from './provider-setup.ts'
import type { ProviderSetup } from './provider-setup.ts'
import { fitChat } from '../formats/translate/fit-chat.ts'
import { messagesOverChat } from '../formats/translate/messages-over-chat.ts'

export type MakeProvider = (setup: ProviderSetup) => LlmProvider

export interface MakeProviderDeps {
  readonly clock: Clock
  readonly newId: NewId
  readonly makeScripted: (config: { readonly cassette: string | null }) => LlmProvider
  /** An ear on what speaks in chats. */
  readonly listen?: (provider: LlmProvider) => LlmProvider
}

/** The adapter for a setup, in every form that it can be brought to. */
export function createMakeProvider(deps: MakeProviderDeps): MakeProvider {
  const listen = deps.listen ?? ((provider: LlmProvider) => provider)
  return (setup) => {
    switch (setup.kind) {
      case 'scripted':
        return messagesOverChat(listen(deps.makeScripted(setup)))
      case 'offline':
        return createHashedWordsProvider()
      case 'openai-compatible': {
        const boundField = boundFieldAt(setup.baseUrl)
        return messagesOverChat(listen(createOpenAiCompatibleProvider(setup)), {
          fit: (request) => fitChat(request, { ...setup.extras, boundField }),
          usage: setup.usage,
          secrets: setup.apiKey === null ? [] : [setup.apiKey],
        })
      }
      case 'anthropic': {
        const chat = createAiSdkProvider({ ...setup, ...deps })
        return createAnthropicProvider({ ...setup, chat: listen(chat) })
      }
      case 'google':
      case 'mistral':
      case 'cohere':
      case 'bedrock':
      case 'azure':
        return messagesOverChat(listen(createAiSdkProvider({ ...setup, ...deps })))
    }
  }
}

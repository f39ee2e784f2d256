import { Problem } from '@flotilla/protocol/problem'
import type { ModelSettings, ProviderSettings, Settings } from '../config/settings-file.ts'
import type { Secret } from '../vault/secret.ts'
import type { Vault } from '../vault/vault.ts'
import type { LlmProvider } from './llm-provider.ts'
import type { PricedModel } from './price-list.ts'
import { presetModel } from './preset-model.ts'
import { fullName, resolveModel } from './resolve-model.ts'
import type { ModelName } from './resolve-model.ts'

/** A model that can be called now. */
export interface CatalogModel extends PricedModel {
  readonly llm: LlmProvider
  /** What must not stand in any text that leaves. */
  readonly secrets: readonly Secret[]
  /** What a call that names no bound is given, tokens. */
  readonly defaultMaxTokens: number
  /** The name under which this provider takes the bound when the client used none. */
  readonly boundField: 'max_tokens' | 'max_completion_tokens'
}

export interface ModelCatalog {
  /** What agents without a model of their own use; null when none is set. */
  defaultModel(): string | null
  /** Whom a bare name belongs to. */
  defaultProvider(): string
  /** Throws the Problem `not-configured` when the provider is not set up. */
  find(name: ModelName): CatalogModel
  /** Full names of all models that are known without asking anybody. */
  names(): Promise<readonly string[]>
  close(): Promise<void>
}

export interface ModelCatalogDeps {
  readonly settings: () => Settings
  readonly vault: Vault
  /** FLOTILLA_DEFAULT_MODEL; wins over the settings file. */
  readonly environmentDefaultModel: string | null
  readonly makeOpenAiCompatible: (config: {
    readonly baseUrl: string
    readonly apiKey: Secret | null
  }) => LlmProvider
  readonly makeScripted: (config: { readonly cassette: string | null }) => LlmProvider
}

const openAiBaseUrl = 'https://api.openai.com/v1'

/** Enough for a long answer, and accepted by the current models of the large providers. */
const defaultMaxTokens = 16_384

/** A provider as it is set up, by settings or by credentials alone. */
type ProviderSetup =
  | {
      readonly kind: 'openai-compatible'
      readonly baseUrl: string
      readonly apiKey: string | null
      readonly local: boolean
    }
  | { readonly kind: 'scripted'; readonly cassette: string | null }

/** What `.env` alone may set a provider up with. */
const presetCredentials = ['openai_base_url', 'openai_api_key'] as const

interface Vaulted {
  readonly credential: string
  readonly secret: Secret | undefined
}

/** Models that are remembered; forgetting all only costs a look. */
const knownMax = 1000

export function createModelCatalog(deps: ModelCatalogDeps): ModelCatalog {
  /** By setup, so that a changed setting makes a new one; the old ones live until the end. */
  const made = new Map<string, LlmProvider>()

  /** What was found by the same settings and secrets is found again. */
  const known = new Map<
    string,
    {
      readonly model: CatalogModel
      readonly settings: Settings
      /** The credentials it depends on, as they were. */
      readonly vaulted: readonly Vaulted[]
    }
  >()

  function isVaulted({ credential, secret }: Vaulted): boolean {
    return deps.vault.system(credential) === secret
  }

  function providerFor(setup: ProviderSetup, apiKey: Secret | null): LlmProvider {
    const key = JSON.stringify(setup)
    let provider = made.get(key)
    if (!provider) {
      provider =
        setup.kind === 'scripted'
          ? deps.makeScripted({ cassette: setup.cassette })
          : deps.makeOpenAiCompatible({ baseUrl: setup.baseUrl, apiKey })
      made.set(key, provider)
    }
    return provider
  }

  function defaultModel(): string | null {
    return presetModel({
      environment: deps.environmentDefaultModel,
      settings: deps.settings(),
      hasSystemCredential: (name) => deps.vault.system(name) !== undefined,
    })
  }

  return {
    defaultModel,
    defaultProvider: () => resolveModel(defaultModel() ?? '', 'openai')?.provider ?? 'openai',
    find(name) {
      const id = fullName(name)
      const settings = deps.settings()
      const found = known.get(id)
      if (found && found.settings === settings && found.vaulted.every(isVaulted)) return found.model
      const setup = setupOf(deps, name.provider)
      const apiKey = setup.kind === 'scripted' ? null : keyOf(deps.vault, name.provider, setup.apiKey)
      const model: CatalogModel = {
        ...describe(name, setup, settings.models[id]),
        llm: providerFor(setup, apiKey),
        secrets: apiKey === null ? [] : [apiKey],
      }
      if (known.size >= knownMax) known.clear()
      known.set(id, {
        model,
        settings,
        vaulted: [...presetCredentials, ...(apiKey === null ? [] : [apiKey.name])].map((credential) => ({
          credential,
          secret: deps.vault.system(credential),
        })),
      })
      return model
    },
    async names() {
      const scripted = Object.entries(deps.settings().providers).filter(
        ([, provider]) => provider.kind === 'scripted',
      )
      const providers = ['scripted', ...scripted.map(([name]) => name)]
      const played = providers.map(async (name) => {
        const llm = providerFor(setupOf(deps, name), null)
        return (await llm.modelNames()).map((model) => fullName({ provider: name, model }))
      })
      const names = [...Object.keys(deps.settings().models), ...(await Promise.all(played)).flat()]
      const preset = defaultModel()
      if (preset !== null) names.unshift(preset)
      return [...new Set(names)]
    },
    async close() {
      await Promise.all([...made.values()].map((provider) => provider.close()))
      made.clear()
    },
  }
}

function describe(
  name: ModelName,
  setup: ProviderSetup,
  own: ModelSettings | undefined,
): Omit<CatalogModel, 'llm' | 'secrets'> {
  const baseUrl = setup.kind === 'scripted' ? null : setup.baseUrl
  const isOpenAi = baseUrl !== null && new URL(baseUrl).hostname === 'api.openai.com'
  return {
    id: fullName(name),
    provider: name.provider,
    model: name.model,
    baseUrl,
    free: setup.kind === 'scripted' || setup.local || own?.local === true,
    price: own?.price ?? null,
    defaultMaxTokens: Math.min(
      own?.max_output_tokens ?? defaultMaxTokens,
      own?.context ?? Number.MAX_SAFE_INTEGER,
    ),
    boundField: isOpenAi ? 'max_completion_tokens' : 'max_tokens',
  }
}

function setupOf(deps: ModelCatalogDeps, provider: string): ProviderSetup {
  const settings = deps.settings().providers
  const configured = Object.hasOwn(settings, provider) ? settings[provider] : undefined
  if (configured) return setupFrom(configured)
  if (provider === 'scripted') return { kind: 'scripted', cassette: null }
  if (provider === 'openai') {
    const baseUrl = deps.vault.system('openai_base_url')
    const apiKey = deps.vault.system('openai_api_key')
    if (baseUrl || apiKey) {
      return {
        kind: 'openai-compatible',
        baseUrl: checkedUrl(baseUrl?.reveal() ?? openAiBaseUrl),
        apiKey: apiKey ? apiKey.name : null,
        local: false,
      }
    }
    throw new Problem('not-configured', {
      detail:
        'the provider openai is not set up: put FLOTILLA_SYSTEM_OPENAI_API_KEY or FLOTILLA_SYSTEM_OPENAI_BASE_URL into .env',
    })
  }
  throw new Problem('not-configured', {
    detail: `the provider ${provider} is not set up: name it under providers in config/settings.json`,
  })
}

function setupFrom(configured: ProviderSettings): ProviderSetup {
  if (configured.kind === 'scripted') return configured
  return {
    kind: 'openai-compatible',
    baseUrl: configured.base_url,
    apiKey: configured.api_key ?? null,
    local: configured.local,
  }
}

function keyOf(vault: Vault, provider: string, name: string | null): Secret | null {
  if (name === null) return null
  const secret = vault.system(name)
  if (secret) return secret
  throw new Problem('not-configured', {
    detail: `the provider ${provider} wants the credential FLOTILLA_SYSTEM_${name.toUpperCase()}, which is not set`,
  })
}

function checkedUrl(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text
  throw new Problem('not-configured', {
    detail: 'FLOTILLA_SYSTEM_OPENAI_BASE_URL is not an http or https address',
  })
}

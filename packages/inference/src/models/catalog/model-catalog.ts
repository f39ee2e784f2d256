import { Problem } from '@flotilla/protocol/problem'
import { modelEntries, modelSettingsOf } from '@flotilla/foundation/config'
import type { ModelSettings, Settings } from '@flotilla/foundation/config'
import type { Secret, Vault } from '@flotilla/egress/credentials'
import { freeBecause } from './free-because.ts'
import type { FreeBecause } from './free-because.ts'
import type { LlmProvider } from '../llm-provider.ts'
import type { MakeProvider } from '../providers/make-provider.ts'
import { mediaBoundsOf } from './media-bounds.ts'
import type { MediaBounds } from './media-bounds.ts'
import { windowOfModel } from './model-window.ts'
import type { PricedModel } from './model-prices.ts'
import { presetModel } from './preset-model.ts'
import type { PresetModel } from './preset-model.ts'
import { boundFieldAt, setupOf, usableProviders } from '../providers/provider-setup.ts'
import type { ProviderSetup } from '../providers/provider-setup.ts'
import { fullName, isGivenSearch, namesMany, resolveModel } from './resolve-model.ts'
import type { ModelName } from './resolve-model.ts'
import type { ServerToolSettings } from './server-tools.ts'
import { historyRulesOf } from '../formats/history/history-rules.ts'
import type { HistoryRules } from '../formats/history/history-rules.ts'
import { promptCacheOf } from '../formats/prompt-cache.ts'
import type { PromptCache } from '../formats/prompt-cache.ts'
import type { UsageRule } from '../formats/usage.ts'

/** A model that can be called now. */
export interface CatalogModel extends PricedModel {
  readonly freeBecause: FreeBecause
  readonly llm: LlmProvider
  /** Secrets that must not appear in any text that leaves the mesh. */
  readonly secrets: readonly Secret[]
  /** The bound in tokens for a call that sets none. */
  readonly defaultMaxTokens: number
  /** The context window in tokens; far above all known windows if unknown. */
  readonly windowTokens: number
  /** Upper bounds for content other than text. */
  readonly media: MediaBounds
  readonly usageRule: UsageRule
  /** The parts of a conversation with other models that this model accepts. */
  readonly history: HistoryRules
  readonly promptCache: PromptCache
  /** True if the model's name makes the provider add a web search; checked once per model and not per call. */
  readonly isGivenSearch: boolean
  /** Tools that the owner allows to run at the model's provider. */
  readonly serverTools: Readonly<Record<string, ServerToolSettings>>
  /** The field in which this provider takes the token bound if the client sent none. */
  readonly boundField: 'max_tokens' | 'max_completion_tokens'
}

export interface ModelCatalog {
  /** Returns the model of agents without an own model; null when none is set. */
  defaultModel(): string | null
  /** Returns the default model and the setting that chose it; null when none is set. */
  preset(): PresetModel | null
  /** Returns the provider that a model name without a slash belongs to. */
  defaultProvider(): string
  /** Returns a model. Throws the Problem `not-configured` when the provider is not set up. */
  find(name: ModelName): CatalogModel
  /** Throws the Problem `unprocessable`, listing the usable providers, if the model's provider is not set up. */
  requireUsable(model: string): void
  /** Returns full names of all models that are known without a request to a provider. */
  names(): Promise<readonly string[]>
  close(): Promise<void>
}

interface ModelCatalogDeps {
  readonly settings: () => Settings
  readonly vault: Vault
  /** FLOTILLA_DEFAULT_MODEL; wins over the settings file. */
  readonly environmentDefaultModel: string | null
  readonly environmentDefaultModelFrom: 'environment' | '.env'
  readonly makeProvider: MakeProvider
}

/** The bound in tokens for a call that sets none: enough for a long answer, and accepted by current large models. */
const defaultMaxTokens = 16_384

/** Twice the largest window that a public model had when this was written. */
const unknownWindowTokens = 4_000_000

interface Vaulted {
  readonly credential: string
  readonly secret: Secret | undefined
}

/** The most models in the cache; clearing the cache only costs look-ups. */
const knownMax = 1000

export function createModelCatalog(deps: ModelCatalogDeps): ModelCatalog {
  /** Providers by name. Changed settings create a new provider; the old one is closed together with the catalog. */
  const made = new Map<string, { readonly mark: string; readonly llm: LlmProvider }>()
  const replaced: LlmProvider[] = []

  /** Catalog entries by full name, reused while settings and secrets are unchanged. */
  const known = new Map<
    string,
    {
      readonly model: CatalogModel
      readonly settings: Settings
      /** The credentials that the model depends on, with the values at creation. */
      readonly vaulted: readonly Vaulted[]
    }
  >()

  function isVaulted({ credential, secret }: Vaulted): boolean {
    return deps.vault.system(credential) === secret
  }

  const secretIds = new WeakMap<Secret, number>()
  let secretsSeen = 0

  /** Returns a number that identifies a secret without revealing it. */
  function secretId(secret: Secret): number {
    const known = secretIds.get(secret)
    if (known !== undefined) return known
    secretIds.set(secret, ++secretsSeen)
    return secretsSeen
  }

  function providerFor(name: string, setup: ProviderSetup, marks: readonly Vaulted[]): LlmProvider {
    // A changed credential is a new Secret object, so its id differs although all secrets print alike.
    const mark = JSON.stringify([setup, marks.map(({ secret }) => (secret ? secretId(secret) : null))])
    const known = made.get(name)
    if (known?.mark === mark) return known.llm
    if (known) replaced.push(known.llm)
    const llm = deps.makeProvider(setup, name)
    made.set(name, { mark, llm })
    return llm
  }

  /** Returns the setup of a provider, and the credentials that it depends on, present or not. */
  function setupWith(provider: string): { setup: ProviderSetup; vaulted: readonly Vaulted[] } {
    const vaulted: Vaulted[] = []
    const system = (credential: string) => {
      const secret = deps.vault.system(credential)
      vaulted.push({ credential, secret })
      return secret
    }
    return { setup: setupOf({ settings: deps.settings, system }, provider), vaulted }
  }

  const defaultModel = (): string | null => preset()?.name ?? null

  function preset(): PresetModel | null {
    return presetModel({
      environment: deps.environmentDefaultModel,
      environmentFrom: deps.environmentDefaultModelFrom,
      settings: deps.settings(),
      hasSystemCredential: (name) => deps.vault.system(name) !== undefined,
    })
  }

  function providerOfDefault(): string {
    return resolveModel(defaultModel() ?? '', 'openai')?.provider ?? 'openai'
  }

  return {
    defaultModel,
    preset,
    defaultProvider: providerOfDefault,
    find(name) {
      const id = fullName(name)
      const settings = deps.settings()
      const found = known.get(id)
      if (found && found.settings === settings && found.vaulted.every(isVaulted)) return found.model
      const { setup, vaulted } = setupWith(name.provider)
      const model: CatalogModel = {
        ...describe(name, setup, settings),
        llm: providerFor(name.provider, setup, vaulted),
        secrets: vaulted.flatMap(({ credential, secret }) =>
          secret && !plainCredential.test(credential) ? [secret] : [],
        ),
      }
      if (known.size >= knownMax) known.clear()
      known.set(id, { model, settings, vaulted })
      return model
    },
    requireUsable(requested) {
      const name = resolveModel(requested, providerOfDefault())
      try {
        if (name === null || namesMany(requested))
          throw new Problem('not-configured', { detail: `${requested} is not the name of a model` })
        setupWith(name.provider)
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        const system = (credential: string) => deps.vault.system(credential)
        const usable = usableProviders({ settings: deps.settings, system })
        throw new Problem('unprocessable', {
          detail: `${error.detail}; the providers that are set up: ${usable.join(', ') || 'none yet'}`,
          extra: { model: requested, providers: usable },
        })
      }
    },
    async names() {
      const scripted = Object.entries(deps.settings().providers).filter(
        ([, provider]) => provider.kind === 'scripted',
      )
      const providers = ['scripted', 'offline', ...scripted.map(([name]) => name)]
      const played = providers.map(async (name) => {
        const { setup, vaulted } = setupWith(name)
        const llm = providerFor(name, setup, vaulted)
        return (await llm.modelNames()).map((model) => fullName({ provider: name, model }))
      })
      const settings = deps.settings()
      const { heartbeat, compaction } = settings.models
      const chosen = [heartbeat, compaction].filter((name) => name !== undefined)
      const names = [...modelEntries(settings).keys(), ...chosen, ...(await Promise.all(played)).flat()]
      const usual = defaultModel()
      if (usual !== null) names.unshift(usual)
      return [...new Set(names)]
    },
    async close() {
      await Promise.all([...[...made.values()].map(({ llm }) => llm), ...replaced].map((llm) => llm.close()))
      made.clear()
    },
  }
}

function describe(
  name: ModelName,
  setup: ProviderSetup,
  settings: Settings,
): Omit<CatalogModel, 'llm' | 'secrets'> {
  const own: ModelSettings | undefined = modelSettingsOf(settings, fullName(name))
  const baseUrl = 'baseUrl' in setup ? setup.baseUrl : null
  const because = freeBecause({
    hasPrice: own?.price !== undefined,
    modelLocal: own?.local ?? null,
    providerLocal: 'local' in setup ? setup.local : null,
    baseUrl,
  })
  const free = because !== null
  const window = windowOfModel(settings, name)
  return {
    id: fullName(name),
    provider: name.provider,
    model: name.model,
    baseUrl,
    free,
    freeBecause: because,
    media: mediaBoundsOf({ model: name.model, setup, free, window }),
    windowTokens: window ?? unknownWindowTokens,
    usageRule: 'usage' in setup ? setup.usage : {},
    history: historyRulesOf({
      provider: name.provider,
      model: name.model,
      kind: setup.kind,
      baseUrl,
      takesDetails: 'extras' in setup && setup.extras.thinking === 'reasoning_details',
    }),
    promptCache: promptCacheOf({
      model: name.model,
      kind: setup.kind,
      baseUrl,
      takesMarks: 'extras' in setup && setup.extras.cacheControl === true,
    }),
    isGivenSearch: isGivenSearch(fullName(name)),
    serverTools: own?.server_tools ?? {},
    price: own?.price ?? null,
    defaultMaxTokens: Math.min(
      own?.max_output_tokens ?? defaultMaxTokens,
      own?.context ?? Number.MAX_SAFE_INTEGER,
    ),
    boundField: boundFieldAt(baseUrl),
  }
}

/** Values that are stored beside a key and are not secret. */
const plainCredential = /_(?:base_url|region|resource_name|api_version)$/

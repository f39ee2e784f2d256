import { Problem } from '@flotilla/protocol/problem'
import type { LocalServer, ProviderOffer } from '@flotilla/protocol/setup-api'
import { actorOf, requireOwner, requireProof } from '../access/index.ts'
import type { Caller } from '../access/index.ts'
import type { Environment, SettingsFile } from '../config/index.ts'
import type { Credentials, Vault } from '../credentials/index.ts'
import type { Egress } from '../egress/index.ts'
import type { Kernel } from '../kernel/index.ts'
import { credentialNamesOf, providerPresets } from '../models/index.ts'
import type { KnownModels } from '../models/index.ts'
import { findLocalServers } from './find-local-servers.ts'
import { localPlaces } from './local-places.ts'
import type { LocalPlace } from './local-places.ts'
import { recordedDemo } from './recorded-demo.ts'

/** What somebody typed; what is left out is what is kept, or what is usual. */
export interface ProviderInput {
  readonly provider: string
  readonly key?: string | undefined
  readonly base_url?: string | undefined
  readonly model?: string | undefined
}

export interface SetUpModelsDeps extends Pick<Kernel, 'guard' | 'journal' | 'settings' | 'clock'> {
  readonly vault: Pick<Vault, 'system' | 'systemSourceOf' | 'storeSystem' | 'removeSystem'>
  readonly settingsFile: Pick<SettingsFile, 'edit'>
  readonly catalog: Pick<KnownModels['catalog'], 'preset'>
  readonly tryProvider: KnownModels['tryProvider']
  readonly environment: Pick<Environment, 'defaultModel' | 'defaultModelFrom'>
  readonly fingerprint: Credentials['fingerprint']
  readonly fetchAt: Egress['fetchAt']
  /** Only tests look elsewhere. */
  readonly places?: readonly LocalPlace[]
}

export type SetUpModels = ReturnType<typeof createSetUpModels>

/**
 * What agents think with, chosen by an owner at a page or a terminal; nobody edits a file by hand. A key is tried before it
 * is kept, and written to `.env` of the home; the default model goes to `config/settings.json`. A key that is kept is sent
 * where it was kept for and nowhere else, whoever asks; an address of one's own is for the owner on the machine of the mesh,
 * since what is there answers in words. The first provider of a home is free to choose at a page; whatever changes where
 * prompts go after that wants the owner's proof there.
 *
 * Problems: `denied`; `unprocessable` for a provider or a value that cannot be; `conflict` for what the environment of the
 * mesh decides; and those of the provider's own refusal.
 */
export function createSetUpModels(deps: SetUpModelsDeps) {
  const { vault, settingsFile } = deps
  const places = deps.places ?? localPlaces

  function record(
    caller: Caller,
    row: Pick<Parameters<Kernel['journal']['append']>[0], 'action' | 'subject' | 'detail'>,
  ): void {
    deps.journal.append({ actor: actorOf(caller), ...row })
  }

  function defaultLocked(): string | null {
    const { defaultModel, defaultModelFrom } = deps.environment
    if (defaultModel === null) return null
    const where = defaultModelFrom === '.env' ? '.env of the home' : 'the environment of the mesh'
    return `FLOTILLA_DEFAULT_MODEL in ${where} chooses ${defaultModel}; take it out there and start the mesh again`
  }

  async function makeDefault(model: string | null): Promise<void> {
    const locked = defaultLocked()
    if (locked !== null) throw new Problem('conflict', { detail: locked })
    await settingsFile.edit(['default_model'], model ?? undefined)
  }

  /** Refused before the provider is asked anything. */
  function candidateOf(caller: Caller, { provider, key, base_url: baseUrl }: ProviderInput) {
    if (!isKnown(provider)) {
      throw new Problem('unprocessable', {
        detail: `${provider} is not known here: choose one of ${offered().join(', ')}, or openai with an address of your own`,
      })
    }
    const trimmed = key?.trim() ?? null
    if (trimmed !== null && (trimmed === '' || /\p{Cc}/u.test(trimmed))) {
      throw new Problem('unprocessable', { detail: 'a key is one line of text' })
    }
    const names = credentialNamesOf(deps.settings(), provider)
    if (trimmed !== null) requireOurs(names.apiKey)
    if (baseUrl !== undefined) {
      requireOurs(names.baseUrl)
      requireAddress(caller, provider, baseUrl)
      if (trimmed === null) requireSameAddress(names.apiKey, provider, baseUrl)
    }
    return { provider, key: trimmed, baseUrl: baseUrl ?? null }
  }

  function requireOurs(name: string): void {
    if (vault.systemSourceOf(name) !== 'environment') return
    throw new Problem('conflict', {
      detail: `FLOTILLA_SYSTEM_${name.toUpperCase()} is set in the environment of the mesh; change it there`,
    })
  }

  function requireAddress(caller: Caller, provider: string, baseUrl: string): void {
    const { username, password, hash } = new URL(baseUrl)
    if (username !== '' || password !== '' || hash !== '') {
      throw new Problem('unprocessable', {
        detail: 'an address has no user, no password and no # part',
        repair: 'Give the plain address of the server; a key goes into its own field.',
      })
    }
    if (!isUsual(provider, baseUrl))
      requireOwner(caller, 'have a provider answer from an address of their own')
  }

  function isUsual(provider: string, baseUrl: string): boolean {
    return [providerPresets[provider]?.baseUrl, ...places.map(({ place }) => `http://${place}`)].some(
      (known) => known != null && originOf(known) === originOf(baseUrl),
    )
  }

  /** Nothing thinks here yet but the recording, nothing is kept of this provider, and it is where everybody's is. */
  function isFirst({ provider, base_url: baseUrl }: ProviderInput): boolean {
    const names = credentialNamesOf(deps.settings(), provider)
    const preset = deps.catalog.preset()
    return (
      (preset === null || preset.name === recordedDemo.model) &&
      [names.apiKey, names.baseUrl].every((name) => vault.systemSourceOf(name) === null) &&
      (baseUrl === undefined || isUsual(provider, baseUrl))
    )
  }

  /** A kept key would go to whoever is at the new address. */
  function requireSameAddress(keyName: string | null, provider: string, baseUrl: string): void {
    if (keyName === null || vault.systemSourceOf(keyName) === null) return
    const now = deps.tryProvider.addressOf(provider)
    if (now !== null && originOf(now) === originOf(baseUrl)) return
    throw new Problem('unprocessable', {
      detail: `the key of ${provider} is kept for ${now === null ? 'another address' : new URL(now).host}`,
      repair: 'Give the key again for another address.',
    })
  }

  function isKnown(provider: string): boolean {
    return offered().includes(provider) || Object.hasOwn(deps.settings().providers, provider)
  }

  return {
    read(caller: Caller) {
      deps.guard(caller, { do: 'manage-credentials' })
      const { agent, question } = recordedDemo
      return {
        default_model: deps.catalog.preset(),
        default_model_locked: defaultLocked(),
        demo: deps.catalog.preset()?.name === recordedDemo.model ? { agent, question } : null,
        providers: offered().map((name) => offerOf(deps, name)),
      }
    },

    async local(caller: Caller, signal: AbortSignal): Promise<{ servers: LocalServer[] }> {
      deps.guard(caller, { do: 'manage-credentials' })
      return { servers: await findLocalServers(deps, places, signal) }
    },

    async check(caller: Caller, input: ProviderInput, signal: AbortSignal) {
      deps.guard(caller, { do: 'manage-credentials' })
      const candidate = candidateOf(caller, input)
      record(caller, {
        action: 'provider.checked',
        subject: input.provider,
        detail: candidate.baseUrl === null ? {} : { host: new URL(candidate.baseUrl).host },
      })
      const model = input.model ?? usualModelOf(input.provider)
      if (model !== null) await deps.tryProvider.ask(candidate, model, signal)
      const models = await deps.tryProvider.models(candidate, signal)
      return { answered: model === null ? null : `${input.provider}/${model}`, models: [...models] }
    },

    /** Nothing is kept unless the model has answered. */
    async store(
      caller: Caller,
      input: ProviderInput & { readonly make_default: boolean },
      signal: AbortSignal,
    ) {
      deps.guard(caller, { do: 'manage-credentials' })
      const locked = input.make_default ? defaultLocked() : null
      if (locked !== null) throw new Problem('conflict', { detail: locked })
      const candidate = candidateOf(caller, input)
      if (!isFirst(input)) requireProof(caller, 'change where prompts and keys go')
      const model = input.model ?? usualModelOf(input.provider)
      if (model === null) {
        throw new Problem('unprocessable', {
          detail: `name a model of ${input.provider}: it has no usual one`,
        })
      }
      await deps.tryProvider.ask(candidate, model, signal)
      const names = credentialNamesOf(deps.settings(), input.provider)
      if (candidate.key !== null) await vault.storeSystem(names.apiKey, candidate.key)
      await keepAddress(deps, input.provider, candidate.baseUrl)
      const id = `${input.provider}/${model}`
      record(caller, {
        action: 'provider.stored',
        subject: input.provider,
        detail: {
          model: id,
          key: candidate.key === null ? 'as before' : 'new',
          ...(candidate.baseUrl === null ? {} : { host: new URL(candidate.baseUrl).host }),
        },
      })
      if (input.make_default) await makeDefault(id)
      return { provider: input.provider, model: id, default_model: deps.catalog.preset() }
    },

    async remove(caller: Caller, provider: string) {
      deps.guard(caller, { do: 'manage-credentials' })
      const names = credentialNamesOf(deps.settings(), provider)
      const kept = [names.apiKey, names.baseUrl].filter((name) => vault.systemSourceOf(name) !== null)
      if (kept.length === 0) {
        throw new Problem('not-found', {
          detail: `nothing is kept of ${provider}`,
          repair: 'flotilla models lists the providers that have a key.',
        })
      }
      for (const name of kept) requireOurs(name)
      for (const name of kept) await vault.removeSystem(name)
      record(caller, { action: 'provider.removed', subject: provider, detail: {} })
      const usual = deps.settings().default_model
      // Agents would be told of a missing key at each call; without a default they are told that none is set up.
      if (usual?.startsWith(`${provider}/`)) await settingsFile.edit(['default_model'], undefined)
      return { removed: provider }
    },

    async chooseModel(caller: Caller, model: string | null) {
      deps.guard(caller, { do: 'manage-credentials' })
      await makeDefault(model)
      record(caller, { action: 'default-model.set', subject: model ?? 'none', detail: {} })
      return { default_model: deps.catalog.preset() }
    },

    async playDemo(caller: Caller) {
      deps.guard(caller, { do: 'manage-credentials' })
      await makeDefault(recordedDemo.model)
      record(caller, { action: 'default-model.set', subject: recordedDemo.model, detail: {} })
      const { template, agent, question } = recordedDemo
      return { default_model: deps.catalog.preset(), template, agent, question }
    },

    async setPrice(
      caller: Caller,
      {
        model,
        price,
      }: {
        readonly model: string
        readonly price: { readonly input_per_mtok: number; readonly output_per_mtok: number } | null
      },
    ) {
      deps.guard(caller, { do: 'manage-credentials' })
      await settingsFile.edit(['models', model, 'price'], price ?? undefined)
      record(caller, {
        action: 'price.set',
        subject: model,
        detail: {
          price: price === null ? 'public list' : `${price.input_per_mtok} in, ${price.output_per_mtok} out`,
        },
      })
      return { model }
    },
  }
}

function originOf(address: string): string {
  return new URL(address).origin
}

/** Those that a key and an address are all that they need: nothing of regions or deployments. Pure. */
function offered(): readonly string[] {
  return Object.entries(providerPresets).flatMap(([name, { baseUrl }]) => (baseUrl === null ? [] : [name]))
}

/** Without the provider's name. Pure. */
function usualModelOf(provider: string): string | null {
  const usual = Object.hasOwn(providerPresets, provider) ? providerPresets[provider]?.usualModel : undefined
  return usual?.slice(provider.length + 1) ?? null
}

function offerOf(
  { vault, settings, fingerprint }: Pick<SetUpModelsDeps, 'vault' | 'settings' | 'fingerprint'>,
  name: string,
): ProviderOffer {
  const { apiKey } = credentialNamesOf(settings(), name)
  const secret = vault.system(apiKey)
  const preset = providerPresets[name]
  return {
    name,
    base_url: preset?.baseUrl ?? null,
    needs_key: preset?.needsNoKey !== true,
    key: vault.systemSourceOf(apiKey) ?? 'none',
    fingerprint: secret ? fingerprint(secret) : null,
    usual_model: preset?.usualModel ?? null,
  }
}

/** An address that is the usual one is none of the owner's, and takes the place of one that was. */
async function keepAddress(
  { vault, settings }: Pick<SetUpModelsDeps, 'vault' | 'settings'>,
  provider: string,
  baseUrl: string | null,
): Promise<void> {
  if (baseUrl === null) return
  const { baseUrl: name } = credentialNamesOf(settings(), provider)
  if (baseUrl !== providerPresets[provider]?.baseUrl) await vault.storeSystem(name, baseUrl)
  else if (vault.systemSourceOf(name) === 'file') await vault.removeSystem(name)
}

import { Problem } from '@flotilla/protocol/problem'
import { quoted } from '@flotilla/protocol/shown-text'
import { requireProof } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import {
  credentialNamesOf,
  isOwnServer,
  ownServerEntry,
  ownServerKey,
  providerPresets,
} from '@flotilla/inference/models'
import {
  addressSourceOf,
  isAddedServer,
  isFirstProvider,
  isSameAddress,
  providerCandidate,
  requireOurs,
} from './provider-candidate.ts'
import type { ProviderCandidate } from './provider-candidate.ts'
import { recordSetup, requireOwnDefault, usualModelOf } from './setup-context.ts'
import type { ProviderInput, SetupContext, StoredInput } from './setup-context.ts'

/** Tests a provider with the entered values and stores nothing. */
export async function checkProvider(
  context: SetupContext,
  caller: Caller,
  { input, signal }: { readonly input: ProviderInput; readonly signal: AbortSignal },
) {
  context.guard(caller, { do: 'manage-credentials' })
  const candidate = providerCandidate(context, caller, input)
  const requireUntouched = standingOf(context, input.provider)
  recordSetup(context, caller, {
    action: 'provider.checked',
    subject: input.provider,
    detail: candidate.baseUrl === null ? {} : { host: new URL(candidate.baseUrl).host },
  })
  const model = input.model ?? usualModelOf(input.provider)
  if (model !== null) await context.tryProvider.ask(candidate, model, signal)
  // Otherwise a key that another owner stored during the request would be sent to the address under test.
  requireUntouched()
  const models = await context.tryProvider.models(candidate, signal)
  return { answered: model === null ? null : `${input.provider}/${model}`, models: [...models] }
}

/** Stores the provider only if the model has answered and no other owner changed the setup during the request. */
export async function storeProvider(
  context: SetupContext,
  caller: Caller,
  { input, signal }: { readonly input: StoredInput; readonly signal: AbortSignal },
) {
  const candidate = permittedCandidate(context, caller, input)
  let requireUntouched = standingOf(context, input.provider)
  const model = input.model ?? usualModelOf(input.provider)
  if (model === null) {
    throw await noModelChosen(context, candidate, signal)
  }
  await context.tryProvider.ask(candidate, model, signal)
  if (movesServer(context, candidate)) {
    requireUntouched()
    // First without a key: neither is the old key sent to the new address, nor the new one to the old address.
    await storeServer(context, { ...candidate, key: null }, input.costs_nothing)
    requireUntouched = standingOf(context, input.provider)
  }
  await context.vault.changeSystem(() => {
    requireUntouched()
    return keptOf(context, permittedCandidate(context, caller, input))
  })
  // The key is stored first: until the settings name it, no call uses it.
  await storeServer(context, candidate, input.costs_nothing)
  const id = `${input.provider}/${model}`
  recordSetup(context, caller, {
    action: 'provider.stored',
    subject: input.provider,
    detail: {
      model: id,
      key: candidate.key === null ? 'as before' : 'new',
      ...(candidate.baseUrl === null ? {} : { host: new URL(candidate.baseUrl).host }),
    },
  })
  if (input.make_default) {
    requireOwnDefault(context)
    await context.settingsFile.edit(['default_model'], id)
  }
  return { provider: input.provider, model: id, default_model: context.catalog.preset() }
}

/** The most models that one problem names. */
const namedMax = 10
const nameMaxChars = 80

/** Returns the problem of a provider without a default model, with the models that it offers as far as it says. */
async function noModelChosen(
  { tryProvider }: Pick<SetupContext, 'tryProvider'>,
  candidate: ProviderCandidate,
  signal: AbortSignal,
): Promise<Problem> {
  const models = await tryProvider.models(candidate, signal).catch((): readonly string[] => [])
  signal.throwIfAborted()
  const names = models.slice(0, namedMax).map((name) => quoted(name, nameMaxChars))
  const more = models.length > namedMax ? ` and ${models.length - namedMax} more` : ''
  const offered = names.length === 0 ? '' : `; it offers ${names.join(', ')}${more}`
  return new Problem('unprocessable', {
    detail: `choose a model of ${candidate.provider}, which has no default model${offered}`,
    repair: 'Name the model, for example with flotilla init --model NAME.',
  })
}

export async function removeProvider(context: SetupContext, caller: Caller, provider: string) {
  context.guard(caller, { do: 'manage-credentials' })
  const { vault, settings, settingsFile } = context
  const isServer = isOwnServer(settings(), provider) && Object.hasOwn(settings().providers, provider)
  const kept = storedNames(context, provider)
  if (kept.length === 0 && !isServer) {
    throw new Problem('not-found', {
      detail: `the fleet has no stored key or address of ${provider}`,
      repair: 'flotilla models lists the models of the providers that are set up.',
    })
  }
  for (const name of kept) requireOurs(context, name)
  // The address is removed first: a key without an address is sent nowhere.
  if (isServer) await settingsFile.edit(['providers', provider], undefined)
  if (kept.length > 0) await vault.changeSystem(() => Object.fromEntries(kept.map((name) => [name, null])))
  recordSetup(context, caller, { action: 'provider.removed', subject: provider, detail: {} })
  const usual = settings().default_model
  // A default model without a key would fail at each call; without a default model the error names the setup.
  if (usual?.startsWith(`${provider}/`)) await settingsFile.edit(['default_model'], undefined)
  return { removed: provider }
}

/** The credentials to delete with a provider. One that the owner named for a server may belong to others too. */
function storedNames({ settings, vault }: SetupContext, provider: string): readonly string[] {
  const { apiKey, baseUrl } = credentialNamesOf(settings(), provider)
  const names = isOwnServer(settings(), provider) ? [ownServerKey(provider)] : [apiKey, baseUrl]
  return names.filter((name) => vault.systemSourceOf(name) !== null)
}

/** True if the request gives an added server another address. */
function movesServer(
  { settings }: Pick<SetupContext, 'settings'>,
  { provider, baseUrl }: ProviderCandidate,
): boolean {
  const stored = settings().providers[provider]
  return (
    baseUrl !== null &&
    isAddedServer(settings(), provider) &&
    stored?.kind === 'openai-compatible' &&
    !isSameAddress(stored.base_url, baseUrl)
  )
}

/** Writes an own server into the settings: its address and the name of its key. */
async function storeServer(
  { settings, settingsFile }: Pick<SetupContext, 'settings' | 'settingsFile'>,
  candidate: ProviderCandidate,
  costsNothing: boolean | undefined,
): Promise<void> {
  const { provider } = candidate
  if (!isOwnServer(settings(), provider)) return
  const entry = ownServerEntry(settings(), candidate)
  if (entry === null) return
  const isFree = costsNothing === undefined ? {} : { local: costsNothing }
  await settingsFile.edit(['providers', provider], { ...entry, ...isFree })
}

function permittedCandidate(context: SetupContext, caller: Caller, input: StoredInput): ProviderCandidate {
  context.guard(caller, { do: 'manage-credentials' })
  if (input.make_default) requireOwnDefault(context)
  const candidate = providerCandidate(context, caller, input)
  if (input.costs_nothing !== undefined && !isOwnServer(context.settings(), input.provider)) {
    throw new Problem('unprocessable', {
      detail: `only calls of an own server can be declared free, and ${input.provider} is a known provider`,
    })
  }
  if (!isFirstProvider(context, input))
    requireProof(caller, 'change the address that receives prompts and keys')
  return candidate
}

/**
 * Takes a snapshot of a provider's setup and returns a check that throws if the setup has changed. A model may take a
 * minute to answer; a key that another owner stores in that minute would be sent to an address allowed without it.
 */
function standingOf(context: SetupContext, provider: string): () => void {
  const look = () => {
    const { apiKey } = credentialNamesOf(context.settings(), provider)
    const { vault, tryProvider } = context
    return [
      apiKey,
      // The vault returns another object after a key was replaced.
      vault.system(apiKey),
      vault.systemSourceOf(apiKey),
      tryProvider.addressOf(provider),
      addressSourceOf(context, provider),
    ]
  }
  const before = look()
  return () => {
    const now = look()
    if (before.every((part, index) => part === now[index])) return
    throw new Problem('conflict', {
      detail: `${provider} was set up by another person meanwhile; nothing was saved`,
      repair: 'Check the current setup, and try again.',
    })
  }
}

/**
 * The credentials to store: the key and a custom address. The usual address is not stored; it removes a custom one.
 */
function keptOf(
  { vault, settings }: Pick<SetupContext, 'vault' | 'settings'>,
  { provider, key, baseUrl }: ProviderCandidate,
): Readonly<Record<string, string | null>> {
  const names = credentialNamesOf(settings(), provider)
  const usual = providerPresets[provider]?.baseUrl ?? null
  const changes: Record<string, string | null> = {}
  if (key !== null) changes[names.apiKey] = key
  if (baseUrl === null || isOwnServer(settings(), provider)) return changes
  if (usual === null || !isSameAddress(baseUrl, usual)) changes[names.baseUrl] = baseUrl
  else if (vault.systemSourceOf(names.baseUrl) === 'file') changes[names.baseUrl] = null
  return changes
}

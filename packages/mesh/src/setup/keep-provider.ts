import { Problem } from '@flotilla/protocol/problem'
import { requireProof } from '../access/index.ts'
import type { Caller } from '../access/index.ts'
import { credentialNamesOf, providerPresets } from '../models/index.ts'
import {
  addressSourceOf,
  isFirstProvider,
  isSameAddress,
  providerCandidate,
  requireOurs,
} from './provider-candidate.ts'
import type { ProviderCandidate } from './provider-candidate.ts'
import { recordSetup, requireOwnDefault, usualModelOf } from './setup-context.ts'
import type { ProviderInput, SetupContext } from './setup-context.ts'

/** Asks a provider with what was typed, and keeps nothing. */
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
  // A key that was kept meanwhile would go to the address that is tried here.
  requireUntouched()
  const models = await context.tryProvider.models(candidate, signal)
  return { answered: model === null ? null : `${input.provider}/${model}`, models: [...models] }
}

/** Nothing is kept unless the model has answered, and what was allowed before that still is. */
export async function storeProvider(
  context: SetupContext,
  caller: Caller,
  {
    input,
    signal,
  }: { readonly input: ProviderInput & { readonly make_default: boolean }; readonly signal: AbortSignal },
) {
  const candidate = permittedCandidate(context, caller, input)
  const requireUntouched = standingOf(context, input.provider)
  const model = input.model ?? usualModelOf(input.provider)
  if (model === null) {
    throw new Problem('unprocessable', {
      detail: `name a model of ${input.provider}: it has no usual one`,
    })
  }
  await context.tryProvider.ask(candidate, model, signal)
  await context.vault.changeSystem(() => {
    requireUntouched()
    return keptOf(context, permittedCandidate(context, caller, input))
  })
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

export async function removeProvider(context: SetupContext, caller: Caller, provider: string) {
  context.guard(caller, { do: 'manage-credentials' })
  const { vault, settings, settingsFile } = context
  const names = credentialNamesOf(settings(), provider)
  const kept = [names.apiKey, names.baseUrl].filter((name) => vault.systemSourceOf(name) !== null)
  if (kept.length === 0) {
    throw new Problem('not-found', {
      detail: `nothing is kept of ${provider}`,
      repair: 'flotilla models lists the providers that have a key.',
    })
  }
  for (const name of kept) requireOurs(context, name)
  await vault.changeSystem(() => Object.fromEntries(kept.map((name) => [name, null])))
  recordSetup(context, caller, { action: 'provider.removed', subject: provider, detail: {} })
  const usual = settings().default_model
  // Agents would be told of a missing key at each call; without a default they are told that none is set up.
  if (usual?.startsWith(`${provider}/`)) await settingsFile.edit(['default_model'], undefined)
  return { removed: provider }
}

function permittedCandidate(
  context: SetupContext,
  caller: Caller,
  input: ProviderInput & { readonly make_default: boolean },
): ProviderCandidate {
  context.guard(caller, { do: 'manage-credentials' })
  if (input.make_default) requireOwnDefault(context)
  const candidate = providerCandidate(context, caller, input)
  if (!isFirstProvider(context, input)) requireProof(caller, 'change where prompts and keys go')
  return candidate
}

/**
 * What a provider has now; returns a check that it still has that. A model may take a minute to answer, and a key that
 * somebody else kept in it would go to an address that was allowed without one.
 */
function standingOf(context: SetupContext, provider: string): () => void {
  const look = () => {
    const { apiKey } = credentialNamesOf(context.settings(), provider)
    const { vault, tryProvider } = context
    return [
      apiKey,
      // A key that was replaced is another object.
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
      detail: `somebody else set ${provider} up meanwhile; nothing was kept`,
      repair: 'Look at what is set up now, and try again.',
    })
  }
}

/**
 * The key and the address as they are kept, together. An address that is the usual one is none of the owner's, and takes
 * the place of one that was.
 */
function keptOf(
  { vault, settings }: Pick<SetupContext, 'vault' | 'settings'>,
  { provider, key, baseUrl }: ProviderCandidate,
): Readonly<Record<string, string | null>> {
  const names = credentialNamesOf(settings(), provider)
  const usual = providerPresets[provider]?.baseUrl ?? null
  const changes: Record<string, string | null> = {}
  if (key !== null) changes[names.apiKey] = key
  if (baseUrl === null) return changes
  if (usual === null || !isSameAddress(baseUrl, usual)) changes[names.baseUrl] = baseUrl
  else if (vault.systemSourceOf(names.baseUrl) === 'file') changes[names.baseUrl] = null
  return changes
}

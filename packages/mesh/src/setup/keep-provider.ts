import { Problem } from '@flotilla/protocol/problem'
import { requireProof } from '../access/index.ts'
import type { Caller } from '../access/index.ts'
import { credentialNamesOf, providerPresets } from '../models/index.ts'
import { isFirstProvider, isSameAddress, providerCandidate, requireOurs } from './provider-candidate.ts'
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
  recordSetup(context, caller, {
    action: 'provider.checked',
    subject: input.provider,
    detail: candidate.baseUrl === null ? {} : { host: new URL(candidate.baseUrl).host },
  })
  const model = input.model ?? usualModelOf(input.provider)
  if (model !== null) await context.tryProvider.ask(candidate, model, signal)
  const models = await context.tryProvider.models(candidate, signal)
  return { answered: model === null ? null : `${input.provider}/${model}`, models: [...models] }
}

/** Nothing is kept unless the model has answered. */
export async function storeProvider(
  context: SetupContext,
  caller: Caller,
  {
    input,
    signal,
  }: { readonly input: ProviderInput & { readonly make_default: boolean }; readonly signal: AbortSignal },
) {
  context.guard(caller, { do: 'manage-credentials' })
  if (input.make_default) requireOwnDefault(context)
  const candidate = providerCandidate(context, caller, input)
  if (!isFirstProvider(context, input)) requireProof(caller, 'change where prompts and keys go')
  const model = input.model ?? usualModelOf(input.provider)
  if (model === null) {
    throw new Problem('unprocessable', {
      detail: `name a model of ${input.provider}: it has no usual one`,
    })
  }
  await context.tryProvider.ask(candidate, model, signal)
  const names = credentialNamesOf(context.settings(), input.provider)
  if (candidate.key !== null) await context.vault.storeSystem(names.apiKey, candidate.key)
  await keepAddress(context, input.provider, candidate.baseUrl)
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
  for (const name of kept) await vault.removeSystem(name)
  recordSetup(context, caller, { action: 'provider.removed', subject: provider, detail: {} })
  const usual = settings().default_model
  // Agents would be told of a missing key at each call; without a default they are told that none is set up.
  if (usual?.startsWith(`${provider}/`)) await settingsFile.edit(['default_model'], undefined)
  return { removed: provider }
}

/** An address that is the usual one is none of the owner's, and takes the place of one that was. */
async function keepAddress(
  { vault, settings }: Pick<SetupContext, 'vault' | 'settings'>,
  provider: string,
  baseUrl: string | null,
): Promise<void> {
  if (baseUrl === null) return
  const { baseUrl: name } = credentialNamesOf(settings(), provider)
  const usual = providerPresets[provider]?.baseUrl ?? null
  if (usual === null || !isSameAddress(baseUrl, usual)) await vault.storeSystem(name, baseUrl)
  else if (vault.systemSourceOf(name) === 'file') await vault.removeSystem(name)
}

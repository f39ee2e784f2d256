import { hintOfName } from '@flotilla/protocol/nearest-name'
import { Problem } from '@flotilla/protocol/problem'
import type { LocalServer, ProviderOffer } from '@flotilla/protocol/setup-api'
import { modelEntries } from '@flotilla/foundation/config'
import type { Settings } from '@flotilla/foundation/config'
import type { Caller } from '@flotilla/identity/access'
import { credentialNamesOf, isOwnServer, providerPresets } from '@flotilla/inference/models'
import { findLocalServers } from './find-local-servers.ts'
import { addressSourceOf, isSameAddress, plainAddress } from './provider-candidate.ts'
import { recordedDemo } from './recorded-demo.ts'
import { defaultLocked, offeredProviders, recordSetup, requireOwnDefault } from './setup-context.ts'
import type { SetupContext } from './setup-context.ts'

/** The available models and the chosen ones. */
export function readSetup(context: SetupContext, caller: Caller) {
  context.guard(caller, { do: 'manage-credentials' })
  const { agent, question } = recordedDemo
  return {
    default_model: context.catalog.preset(),
    default_model_locked: defaultLocked(context.environment),
    demo: context.catalog.preset()?.name === recordedDemo.model ? { agent, question } : null,
    providers: [...offeredProviders(), ...ownServers(context.settings())].map((name) =>
      offerOf(context, name),
    ),
  }
}

export async function localServers(
  context: SetupContext,
  caller: Caller,
  signal: AbortSignal,
): Promise<{ servers: LocalServer[] }> {
  context.guard(caller, { do: 'manage-credentials' })
  return { servers: await findLocalServers(context, context.places, signal) }
}

/** Sets the default model; null removes it. */
export async function chooseModel(context: SetupContext, caller: Caller, model: string | null) {
  context.guard(caller, { do: 'manage-credentials' })
  await makeDefault(context, caller, model)
  return { default_model: context.catalog.preset() }
}

export async function playDemo(context: SetupContext, caller: Caller) {
  context.guard(caller, { do: 'manage-credentials' })
  await makeDefault(context, caller, recordedDemo.model)
  const { template, agent, question } = recordedDemo
  return { default_model: context.catalog.preset(), template, agent, question }
}

export async function setPrice(
  context: SetupContext,
  caller: Caller,
  { model, price }: { readonly model: string; readonly price: GivenPrice | null },
) {
  context.guard(caller, { do: 'manage-credentials' })
  if (price !== null) requireKnownProvider(context, model)
  const before = modelEntries(context.settings()).get(model)?.price
  const after = price === null ? undefined : withCachedPrice(price, before?.cached_input_per_mtok)
  await context.settingsFile.edit(['models', model, 'price'], after)
  recordSetup(context, caller, {
    action: 'price.set',
    subject: model,
    detail: {
      price: price === null ? 'public list' : `${price.input_per_mtok} in, ${price.output_per_mtok} out`,
    },
  })
  return { model }
}

/** A price of a model whose provider is in no list would apply to no call. Throws the Problem `unprocessable`. */
function requireKnownProvider(context: SetupContext, model: string): void {
  const provider = model.slice(0, model.indexOf('/'))
  const names = [...new Set([...Object.keys(providerPresets), ...Object.keys(context.settings().providers)])]
  if (names.includes(provider)) return
  const hint = hintOfName(provider, names.toSorted(), 'the providers are')
  throw new Problem('unprocessable', { detail: `there is no provider ${provider}; ${hint}` })
}

interface GivenPrice {
  readonly input_per_mtok: number
  readonly output_per_mtok: number
}

/**
 * Returns the price with that of cached tokens, which only the file can set. A cached token costs no more than another.
 * Pure.
 */
export function withCachedPrice(
  price: GivenPrice,
  cached: number | undefined,
): GivenPrice & { readonly cached_input_per_mtok?: number } {
  return cached === undefined || cached > price.input_per_mtok
    ? price
    : { ...price, cached_input_per_mtok: cached }
}

async function makeDefault(context: SetupContext, caller: Caller, model: string | null): Promise<void> {
  requireOwnDefault(context)
  await context.settingsFile.edit(['default_model'], model ?? undefined)
  recordSetup(context, caller, { action: 'default-model.set', subject: model ?? 'none', detail: {} })
}

/** The names of the servers that the settings define, which no other list knows. Pure. */
function ownServers(settings: Settings): readonly string[] {
  return Object.keys(settings.providers).filter((name) => isOwnServer(settings, name))
}

function offerOf(context: SetupContext, name: string): ProviderOffer {
  const { vault, settings, fingerprint, tryProvider } = context
  const isOwn = isOwnServer(settings(), name)
  const apiKey = keyInUse(settings(), name)
  const secret = apiKey === null ? undefined : vault.system(apiKey)
  const preset = providerPresets[name]
  return {
    name,
    own_server: isOwn,
    base_url: preset?.baseUrl ?? null,
    address: ownAddressOf(context, name),
    needs_key: isOwn ? apiKey !== null : preset?.needsNoKey !== true,
    key: (apiKey === null ? null : vault.systemSourceOf(apiKey)) ?? 'none',
    ready: tryProvider.isReady(name),
    fingerprint: secret ? fingerprint(secret) : null,
    usual_model: preset?.usualModel ?? null,
  }
}

/** The credential that calls of the provider carry; null for an own server without a key. Pure. */
function keyInUse(settings: Settings, name: string): string | null {
  const own = Object.hasOwn(settings.providers, name) ? settings.providers[name] : undefined
  const isKeyless = isOwnServer(settings, name) && !(own && 'api_key' in own && own.api_key !== undefined)
  return isKeyless ? null : credentialNamesOf(settings, name).apiKey
}

function ownAddressOf(context: SetupContext, name: string): ProviderOffer['address'] {
  const now = context.tryProvider.addressOf(name)
  const from = addressSourceOf(context, name)
  const usual = providerPresets[name]?.baseUrl ?? null
  if (now === null || from === null || (usual !== null && isSameAddress(now, usual))) return null
  return { url: plainAddress(now), from }
}

import { Problem } from '@flotilla/protocol/problem'
import type { Settings } from '@flotilla/foundation/config'
import { requireOwner } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import { credentialNamesOf, isOwnServer, ownServerKey, providerPresets } from '@flotilla/inference/models'
import { recordedDemo } from './recorded-demo.ts'
import { offeredProviders } from './setup-context.ts'
import type { ProviderInput, SetupContext } from './setup-context.ts'

export interface ProviderCandidate {
  readonly provider: string
  /** The key to test; null for the stored key. */
  readonly key: string | null
  /** Null for the configured address; a new key is sent to a custom address only if both were entered together. */
  readonly baseUrl: string | null
}

/** Checks the input before any request to the provider. Problems `unprocessable`, `conflict`, `denied`. */
export function providerCandidate(
  context: SetupContext,
  caller: Caller,
  { provider, key, base_url: baseUrl }: ProviderInput,
): ProviderCandidate {
  if (!isKnown(context, provider)) requireNewServer(context, provider, baseUrl)
  const trimmed = key?.trim() ?? null
  if (trimmed !== null && (trimmed === '' || /\p{Cc}/u.test(trimmed))) {
    throw new Problem('unprocessable', { detail: 'the key of a provider must be one line of text' })
  }
  const names = credentialNamesOf(context.settings(), provider)
  if (trimmed !== null) requireOurs(context, names.apiKey)
  if (trimmed !== null && baseUrl === undefined) requireUsualPlace(context, provider)
  if (baseUrl === undefined) return { provider, key: trimmed, baseUrl: null }
  requirePlainAddress(baseUrl)
  const now = context.tryProvider.addressOf(provider)
  if (now !== null && isSameAddress(now, baseUrl)) {
    const source = addressSourceOf(context, provider)
    const isOurs = source === 'file' || source === null
    return { provider, key: trimmed, baseUrl: isOurs ? baseUrl : null }
  }
  requireFreeAddress(context, provider, now)
  if (!isUsual(context.places, provider, baseUrl)) requireOwner(caller, 'use a provider at another address')
  if (trimmed === null) requireSameAddress(context, { keyName: names.apiKey, provider, baseUrl })
  return { provider, key: trimmed, baseUrl }
}

/** Where a custom address of the provider is configured; null if the provider has its usual address. */
export function addressSourceOf(
  { settings, vault }: Pick<SetupContext, 'settings' | 'vault'>,
  provider: string,
): 'settings' | 'environment' | 'file' | null {
  const { providers } = settings()
  const own = Object.hasOwn(providers, provider) ? providers[provider] : undefined
  if (own && 'base_url' in own && own.base_url !== undefined) return 'settings'
  return vault.systemSourceOf(credentialNamesOf(settings(), provider).baseUrl)
}

/** True for an own server as the set-up writes it, so that the set-up may also move it. Pure. */
export function isAddedServer(settings: Settings, provider: string): boolean {
  const own = Object.hasOwn(settings.providers, provider) ? settings.providers[provider] : undefined
  if (own?.kind !== 'openai-compatible' || !isOwnServer(settings, provider)) return false
  return own.api_key === undefined || own.api_key === ownServerKey(provider)
}

/** True if two addresses are equal without trailing slashes and without query. Pure. */
export function isSameAddress(one: string, other: string): boolean {
  return plainAddress(one) === plainAddress(other)
}

/** The address without its query and other parts that may contain a secret. Pure. */
export function plainAddress(address: string): string {
  const { origin, pathname } = new URL(address)
  return `${origin}${pathname.replace(/\/+$/, '')}`
}

/**
 * True if no model but the scripted one is set, nothing is stored for this provider, and its address is the usual
 * one.
 */
export function isFirstProvider(
  { settings, catalog, vault, places }: SetupContext,
  { provider, base_url: baseUrl }: ProviderInput,
): boolean {
  const names = credentialNamesOf(settings(), provider)
  const preset = catalog.preset()
  return (
    (preset === null || preset.name === recordedDemo.model) &&
    [names.apiKey, names.baseUrl].every((name) => vault.systemSourceOf(name) === null) &&
    (baseUrl === undefined || isUsual(places, provider, baseUrl))
  )
}

/** Throws the Problem `conflict` for a value that the environment of the mesh sets. */
export function requireOurs({ vault }: Pick<SetupContext, 'vault'>, name: string): void {
  if (vault.systemSourceOf(name) !== 'environment') return
  throw new Problem('conflict', {
    detail: `FLOTILLA_SYSTEM_${name.toUpperCase()} is set in the environment of the mesh; change it there`,
  })
}

/** Throws `conflict` if an address stored here would never be used. */
function requireFreeAddress(context: SetupContext, provider: string, now: string | null): void {
  const source = addressSourceOf(context, provider)
  if (source === 'environment') requireOurs(context, credentialNamesOf(context.settings(), provider).baseUrl)
  if (source !== 'settings' || isAddedServer(context.settings(), provider)) return
  throw new Problem('conflict', {
    detail: `config/settings.json sets the address of ${provider}${now === null ? '' : ` (${plainAddress(now)})`}, which overrides the address in this request`,
    repair: `Send that address, or change base_url under providers.${provider} in config/settings.json.`,
  })
}

/** Throws the Problem `unprocessable` for an address with a user name, a password or a fragment. Pure. */
export function requirePlainAddress(baseUrl: string): void {
  const { username, password, hash } = new URL(baseUrl)
  if (username === '' && password === '' && hash === '') return
  throw new Problem('unprocessable', {
    detail: 'the address of a provider may have no user name, password or # part',
    repair: 'Enter the plain address of the server, and the key in its own field.',
  })
}

/** Whether an address is the provider's usual one, or a known place of model servers on this machine. Pure. */
export function isUsual(places: SetupContext['places'], provider: string, baseUrl: string): boolean {
  return [providerPresets[provider]?.baseUrl, ...places.map(({ place }) => `http://${place}`)].some(
    (known) => known != null && originOf(known) === originOf(baseUrl),
  )
}

/** Throws a Problem if a stored key would be sent to the server at a new address. */
function requireSameAddress(
  { vault, tryProvider }: SetupContext,
  {
    keyName,
    provider,
    baseUrl,
  }: { readonly keyName: string | null; readonly provider: string; readonly baseUrl: string },
): void {
  if (keyName === null || vault.systemSourceOf(keyName) === null) return
  const now = tryProvider.addressOf(provider)
  if (now !== null && originOf(now) === originOf(baseUrl)) return
  throw new Problem('unprocessable', {
    detail: `the stored key of ${provider} belongs to ${now === null ? 'another address' : new URL(now).host}`,
    repair: `Enter the key again together with the new address, or first delete the stored key of ${provider} (in the dashboard: Settings, Providers).`,
  })
}

/**
 * Sends a new key to the provider's usual address unless an address was entered with it; a stored one may be foreign.
 */
function requireUsualPlace({ tryProvider }: Pick<SetupContext, 'tryProvider'>, provider: string): void {
  const usual = providerPresets[provider]?.baseUrl ?? null
  const now = tryProvider.addressOf(provider)
  if (usual === null || now === null || originOf(usual) === originOf(now)) return
  throw new Problem('unprocessable', {
    detail: `the address of ${provider} is set to ${new URL(now).host}; a new key is sent there only if the request names that address`,
    repair: `Enter the address together with the key: ${usual}, or that of ${new URL(now).host}.`,
  })
}

/** Throws the Problem `unprocessable` unless the name and the address can be those of a new server of the owner. */
function requireNewServer(
  { settings }: Pick<SetupContext, 'settings'>,
  provider: string,
  baseUrl: string | undefined,
): void {
  if (baseUrl === undefined || !isOwnServer(settings(), provider)) {
    throw new Problem('unprocessable', {
      detail: `there is no provider ${provider}: choose one of ${offeredProviders().join(', ')}, or give the address of your own server with the name ${provider}`,
    })
  }
  const { apiKey } = credentialNamesOf(settings(), provider)
  // Names that differ in - and _ alone would share one key.
  const twin = Object.keys(settings().providers).find(
    (other) => other !== provider && credentialNamesOf(settings(), other).apiKey === apiKey,
  )
  if (twin === undefined) return
  throw new Problem('unprocessable', {
    detail: `the name ${provider} is too similar to that of the server ${twin}`,
    repair: 'Choose a name that differs in more than - and _.',
  })
}

function isKnown({ settings }: Pick<SetupContext, 'settings'>, provider: string): boolean {
  return offeredProviders().includes(provider) || Object.hasOwn(settings().providers, provider)
}

function originOf(address: string): string {
  return new URL(address).origin
}

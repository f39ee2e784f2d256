import { Problem } from '@flotilla/protocol/problem'
import { requireOwner } from '../access/index.ts'
import type { Caller } from '../access/index.ts'
import { credentialNamesOf, providerPresets } from '../models/index.ts'
import { recordedDemo } from './recorded-demo.ts'
import { offeredProviders } from './setup-context.ts'
import type { ProviderInput, SetupContext } from './setup-context.ts'

export interface ProviderCandidate {
  readonly provider: string
  /** The key to test; null for the stored key. */
  readonly key: string | null
  /** Null for the current address; a new key is sent to a custom address only if both were entered together. */
  readonly baseUrl: string | null
}

/** Checks what may be tried before any request to the provider. Problems `unprocessable`, `conflict`, `denied`. */
export function providerCandidate(
  context: SetupContext,
  caller: Caller,
  { provider, key, base_url: baseUrl }: ProviderInput,
): ProviderCandidate {
  if (!isKnown(context, provider)) {
    throw new Problem('unprocessable', {
      detail: `${provider} is not known here: choose one of ${offeredProviders().join(', ')}, or openai with an address of your own`,
    })
  }
  const trimmed = key?.trim() ?? null
  if (trimmed !== null && (trimmed === '' || /\p{Cc}/u.test(trimmed))) {
    throw new Problem('unprocessable', { detail: 'a key is one line of text' })
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
  if (!isUsual(context.places, provider, baseUrl))
    requireOwner(caller, 'have a provider answer from an address of their own')
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

/** Compares addresses without their trailing slash. Pure. */
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
  if (source !== 'settings') return
  throw new Problem('conflict', {
    detail: `config/settings.json says where ${provider} is${now === null ? '' : ` (${plainAddress(now)})`}, and wins over an address that is given here`,
    repair: `Give that address, or change base_url under providers.${provider} in config/settings.json.`,
  })
}

/** Throws the Problem `unprocessable` for an address with a user name, a password or a fragment. Pure. */
export function requirePlainAddress(baseUrl: string): void {
  const { username, password, hash } = new URL(baseUrl)
  if (username === '' && password === '' && hash === '') return
  throw new Problem('unprocessable', {
    detail: 'an address has no user, no password and no # part',
    repair: 'Give the plain address of the server; a key goes into its own field.',
  })
}

/** Whether an address is the provider's usual one, or a known place of model servers on this machine. Pure. */
export function isUsual(places: SetupContext['places'], provider: string, baseUrl: string): boolean {
  return [providerPresets[provider]?.baseUrl, ...places.map(({ place }) => `http://${place}`)].some(
    (known) => known != null && originOf(known) === originOf(baseUrl),
  )
}

/** Prevents sending a stored key to the server at a new address. */
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
    detail: `the key of ${provider} is kept for ${now === null ? 'another address' : new URL(now).host}`,
    repair: `Give the key again for another address, or forget ${provider} before (in the dashboard: Settings, Providers).`,
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
    detail: `${provider} is at ${new URL(now).host} here, and a new key goes there only where the address is given with it`,
    repair: `Give the address with the key: ${usual}, or the one of ${new URL(now).host}.`,
  })
}

function isKnown({ settings }: Pick<SetupContext, 'settings'>, provider: string): boolean {
  return offeredProviders().includes(provider) || Object.hasOwn(settings().providers, provider)
}

function originOf(address: string): string {
  return new URL(address).origin
}

import { Problem } from '@flotilla/protocol/problem'
import type { ProviderSettings, Settings } from '@flotilla/foundation/config'
import type { Secret } from '@flotilla/egress/credentials'
import { providerPresets, usageRuleOf } from './provider-presets.ts'
import type { ProviderPreset, SdkKind } from './provider-presets.ts'
import type { ChatExtras } from '../formats/translate/fit-chat.ts'
import type { UsageRule } from '../formats/usage.ts'
import { isOpenAi } from '../formats/openai-address.ts'

/** The setup of a provider, from settings or from credentials alone, with the credentials that it uses. */
export type ProviderSetup =
  | {
      readonly kind: 'openai-compatible'
      readonly baseUrl: string
      readonly apiKey: Secret | null
      readonly local: OwnersWord
      readonly extras: Omit<ChatExtras, 'boundField'>
      readonly usage: UsageRule
    }
  | {
      readonly kind: 'anthropic'
      readonly baseUrl: string
      readonly apiKey: Secret | null
      readonly local: OwnersWord
    }
  | {
      readonly kind: SdkKind
      readonly baseUrl: string
      readonly apiKey: Secret | null
      readonly local: OwnersWord
      readonly aws?: AwsAccess
      readonly azure?: { readonly apiVersion: string | null; readonly byDeployment: boolean }
    }
  | { readonly kind: 'scripted'; readonly cassette: string | null }
  | { readonly kind: 'offline' }

/** Whether the owner declares the models free; null if the address decides. */
type OwnersWord = boolean | null

interface AwsAccess {
  readonly region: string
  readonly accessKeyId: Secret | null
  readonly secretAccessKey: Secret | null
  readonly sessionToken: Secret | null
}

interface SetupSources {
  readonly settings: () => Settings
  readonly system: (name: string) => Secret | undefined
}

/** Returns the setup of a provider. Throws the Problem `not-configured`, which says what to put where. */
export function setupOf(sources: SetupSources, provider: string): ProviderSetup {
  const settings = sources.settings().providers
  const configured = Object.hasOwn(settings, provider) ? settings[provider] : undefined
  if (configured) return setupFrom(sources, provider, configured)
  if (provider === 'scripted') return { kind: 'scripted', cassette: null }
  if (provider === 'offline') return { kind: 'offline' }
  const preset = Object.hasOwn(providerPresets, provider) ? providerPresets[provider] : undefined
  if (preset) return presetSetup(sources, provider, { preset, settings: {} })
  throw new Problem('not-configured', {
    detail: `the provider ${provider} is not set up: name it under providers in config/settings.json`,
  })
}

/** Returns names of providers that can be called now; those in the settings come first. */
export function usableProviders(sources: SetupSources): readonly string[] {
  const named = Object.keys(sources.settings().providers)
  const known = Object.entries(providerPresets).filter(([, preset]) => preset.needsNoKey !== true)
  return [...new Set([...named, ...known.map(([name]) => name)])].filter((name) => {
    try {
      setupOf(sources, name)
      return true
    } catch {
      return false
    }
  })
}

function setupFrom(sources: SetupSources, provider: string, configured: ProviderSettings): ProviderSetup {
  if (configured.kind === 'scripted') return configured
  if (configured.kind === 'openai-compatible') {
    const preset = Object.hasOwn(providerPresets, provider) ? providerPresets[provider] : undefined
    return {
      kind: 'openai-compatible',
      baseUrl: configured.base_url,
      apiKey: named(sources, provider, configured.api_key ?? null),
      local: configured.local ?? null,
      extras: preset?.extras ?? {},
      usage: usageRuleOf(provider, configured.base_url),
    }
  }
  const preset = providerPresets[configured.kind] ?? { kind: configured.kind, baseUrl: null }
  return presetSetup(sources, provider, { preset, settings: configured })
}

interface SdkSettings {
  readonly base_url?: string | undefined
  readonly api_key?: string | undefined
  readonly region?: string | undefined
  readonly resource_name?: string | undefined
  readonly api_version?: string | undefined
  readonly by_deployment?: boolean | undefined
  readonly local?: boolean | undefined
}

/** Settings win over `.env`, and `.env` wins over the preset. */
function presetSetup(
  sources: SetupSources,
  provider: string,
  { preset, settings }: { readonly preset: ProviderPreset; readonly settings: SdkSettings },
): ProviderSetup {
  const credential = (name: string) => sources.system(`${credentialPrefix(provider)}_${name}`) ?? null
  const own = settings.base_url ?? credential('base_url')?.reveal() ?? null
  const apiKey =
    settings.api_key === undefined ? credential('api_key') : named(sources, provider, settings.api_key)
  if (preset.kind === 'bedrock') return bedrockSetup(provider, { credential, own, apiKey, settings })
  const resource = settings.resource_name ?? credential('resource_name')?.reveal() ?? null
  const derived = resource === null ? preset.baseUrl : `https://${resource}.openai.azure.com/openai`
  const baseUrl = own ?? (preset.kind === 'azure' ? derived : preset.baseUrl)
  if (baseUrl === null) {
    throw missing(provider, ['BASE_URL', 'RESOURCE_NAME'])
  }
  if (apiKey === null && own === null && preset.needsNoKey !== true)
    throw missing(provider, ['API_KEY', 'BASE_URL'])
  const url = checkedUrl(provider, baseUrl)
  const local = settings.local ?? null
  if (preset.kind === 'openai-compatible') {
    const usage = usageRuleOf(provider, url)
    return { kind: preset.kind, baseUrl: url, apiKey, local, extras: preset.extras ?? {}, usage }
  }
  if (preset.kind === 'azure') {
    const apiVersion = settings.api_version ?? credential('api_version')?.reveal() ?? null
    const azure = { apiVersion, byDeployment: settings.by_deployment === true }
    return { kind: preset.kind, baseUrl: url, apiKey, local, azure }
  }
  return { kind: preset.kind, baseUrl: url, apiKey, local }
}

function bedrockSetup(
  provider: string,
  at: {
    readonly credential: (name: string) => Secret | null
    readonly own: string | null
    readonly apiKey: Secret | null
    readonly settings: SdkSettings
  },
): ProviderSetup {
  const region = at.settings.region ?? at.credential('region')?.reveal() ?? null
  if (region === null || !/^[a-z]{2}[a-z0-9-]{1,40}$/.test(region)) throw missing(provider, ['REGION'])
  const accessKeyId = at.credential('access_key_id')
  const secretAccessKey = at.credential('secret_access_key')
  if (at.apiKey === null && (accessKeyId === null || secretAccessKey === null)) {
    throw missing(provider, ['API_KEY', 'ACCESS_KEY_ID and SECRET_ACCESS_KEY'])
  }
  return {
    kind: 'bedrock',
    baseUrl: checkedUrl(provider, at.own ?? `https://bedrock-runtime.${region}.amazonaws.com`),
    apiKey: at.apiKey,
    local: at.settings.local ?? null,
    aws: { region, accessKeyId, secretAccessKey, sessionToken: at.credential('session_token') },
  }
}

/** Returns the key under the credential name in the settings; null without a name. Problem `not-configured`. */
function named(sources: SetupSources, provider: string, name: string | null): Secret | null {
  if (name === null) return null
  const secret = sources.system(name)
  if (secret) return secret
  throw new Problem('not-configured', {
    detail: `the provider ${provider} needs the credential FLOTILLA_SYSTEM_${name.toUpperCase()}, which is not set`,
  })
}

/** Returns the names of the system credentials with a provider's key and address. Pure. */
export function credentialNamesOf(
  { providers }: Pick<Settings, 'providers'>,
  provider: string,
): { readonly apiKey: string; readonly baseUrl: string } {
  const own = Object.hasOwn(providers, provider) ? providers[provider] : undefined
  const prefix = credentialPrefix(provider)
  const named = own && 'api_key' in own ? own.api_key : undefined
  const usual = isOwnServer({ providers }, provider) ? ownServerKey(provider) : `${prefix}_api_key`
  return { apiKey: named ?? usual, baseUrl: `${prefix}_base_url` }
}

/** True for a server that only its settings define: an address under a name that is not a known provider. Pure. */
export function isOwnServer({ providers }: Pick<Settings, 'providers'>, provider: string): boolean {
  if (Object.hasOwn(providerPresets, provider) || builtInProviders.has(provider)) return false
  return !Object.hasOwn(providers, provider) || providers[provider]?.kind === 'openai-compatible'
}

/** Providers that the mesh itself plays. */
const builtInProviders: ReadonlySet<string> = new Set(['scripted', 'offline'])

/**
 * The credential that the set-up stores for an own server. No other part of the mesh reads credentials of this prefix,
 * so that a server with the name of a search or chat service gets no key of that service, and the reverse. Pure.
 */
export function ownServerKey(provider: string): string {
  return `server_${credentialPrefix(provider)}_api_key`
}

/** Replaces dashes: provider names may contain them, credential names may not. */
function credentialPrefix(provider: string): string {
  return provider.replaceAll('-', '_')
}

/** Returns the environment variable in `.env` for a value of a provider. Pure. */
export function providerVariable(provider: string, name: string): string {
  return `FLOTILLA_SYSTEM_${credentialPrefix(provider).toUpperCase()}_${name}`
}

function missing(provider: string, names: readonly string[]): Problem {
  return new Problem('not-configured', {
    detail: `the provider ${provider} is not set up: put ${names.map((name) => providerVariable(provider, name)).join(' or ')} into .env`,
    ...(Object.hasOwn(providerPresets, provider)
      ? {
          repair: `Set up the provider with flotilla init --provider ${provider}. The mesh reads changes of .env by hand at its next start.`,
        }
      : {}),
  })
}

function checkedUrl(provider: string, text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text
  throw new Problem('not-configured', {
    detail: `${providerVariable(provider, 'BASE_URL')} is not an http or https address`,
  })
}

/** Returns the field in which this server takes the token bound if the client sent none. */
export function boundFieldAt(baseUrl: string | null): 'max_tokens' | 'max_completion_tokens' {
  return isOpenAi(baseUrl) ? 'max_completion_tokens' : 'max_tokens'
}

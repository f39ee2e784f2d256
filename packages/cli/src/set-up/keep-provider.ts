import type { MeshClient } from '@flotilla/client/mesh-client'
import type { ProviderOffer } from '@flotilla/protocol/setup-api'
import { Problem } from '@flotilla/protocol/problem'
import { CommandFailed } from '../command-failed.ts'
import type { CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { oneLine } from '../terminal/color.ts'
import { formatError } from '../terminal/format-error.ts'
import { askHidden, readAll, readSecret } from '../terminal/read-secret.ts'
import type { ModelChoice } from './model-choice.ts'
import { isSamePlace } from './provider-address.ts'

export interface WantedModel {
  readonly provider: string
  /** The model's name at its provider. */
  readonly model: string | undefined
  readonly baseUrl: string | undefined
  /** Asks for another key even if a usable one exists. */
  readonly anew?: boolean
  /** Whether calls of an own server are free. */
  readonly costsNothing?: boolean
}

const nameColumnsMax = 60
/** After this many wrong answers to one question, the setup is skipped. */
const triesMax = 3

/**
 * Saves a provider after a successful test call. Its key comes from standard input or a hidden prompt, which is
 * repeated if the provider rejects the key. A custom server may need no key. Without an address option, a new key
 * is used with the address of settings or the environment, else with the provider's usual one, regardless of the
 * stored address.
 */
export async function keepProvider(
  context: CommandContext,
  client: MeshClient,
  choice: WantedModel,
): Promise<ModelChoice> {
  const { providers } = await client.call('setup', { signal: context.signal })
  const offer = offerOfChoice(providers, choice)
  const there = { ...choice, baseUrl: choice.baseUrl ?? fixedAddress(offer) }
  const enter = enterMeans(offer, there)
  if (enter === null) return tryAndKeep(context, client, choice)
  const placed = { ...there, baseUrl: there.baseUrl ?? offer.base_url ?? undefined }
  for (let tried = 1; ; tried++) {
    const key = await askKey(context, placed, enter)
    try {
      return await tryAndKeep(context, client, key === '' ? placed : { ...placed, key })
    } catch (error) {
      if (context.input.isTTY !== true || tried === triesMax || !isRefusedKey(error)) throw error
      context.terminal.tell(formatError(error))
    }
  }
}

async function tryAndKeep(
  { terminal, signal }: CommandContext,
  client: MeshClient,
  { provider, model, baseUrl, key, costsNothing }: WantedModel & { readonly key?: string },
): Promise<ModelChoice> {
  terminal.progress.step(`Testing ${provider} with a short question`)
  const kept = await client
    .call('setupProvider', {
      body: {
        provider,
        make_default: true,
        ...(key === undefined ? {} : { key }),
        ...(model === undefined ? {} : { model }),
        ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
        ...(costsNothing === undefined ? {} : { costs_nothing: costsNothing }),
      },
      signal,
    })
    .catch((error: unknown) => {
      terminal.progress.fail()
      throw error
    })
  terminal.progress.done()
  return { kind: 'model', model: kept.model }
}

/** True if the provider rejected the key, so that another key may work; a wrong model has another error. */
const isRefusedKey = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'provider-refused'

export function namedOffer(providers: readonly ProviderOffer[], providerName: string): ProviderOffer {
  const offer = providers.find(({ name }) => name === providerName)
  if (offer !== undefined) return offer
  throw new CommandFailed('unknown-provider', {
    detail: `There is no provider “${oneLine(providerName, nameColumnsMax)}”.`,
    repair: `Name one of ${providers.map(({ name }) => name).join(', ')}; or add the address of your own server with --base-url URL.`,
    exitCode: exitCodes.usage,
  })
}

/** A name that is not known becomes that of the owner's own server if its address is given. Pure. */
function offerOfChoice(
  providers: readonly ProviderOffer[],
  { provider, baseUrl }: WantedModel,
): ProviderOffer {
  const isNew = baseUrl !== undefined && providers.every(({ name }) => name !== provider)
  if (!isNew) return namedOffer(providers, provider)
  return {
    name: provider,
    own_server: true,
    base_url: null,
    address: null,
    needs_key: true,
    key: 'none',
    ready: false,
    fingerprint: null,
    usual_model: null,
  }
}

/** What an empty answer to the question for a key means. */
type Enter = 'nothing' | 'no key' | 'the stored key'

/**
 * Returns what an empty answer means; null if no key is asked for, as none is needed or the stored one fits. Pure.
 */
function enterMeans(offer: ProviderOffer, { baseUrl, anew }: WantedModel): Enter | null {
  if (!offer.needs_key && !(offer.own_server && anew === true)) return null
  const staysThere = baseUrl === undefined || isSamePlace(baseUrl, offer.address?.url ?? offer.base_url)
  if (offer.key !== 'none' && staysThere)
    return anew === true && offer.key === 'file' ? 'the stored key' : null
  return baseUrl === undefined || isSamePlace(baseUrl, offer.base_url) ? 'nothing' : 'no key'
}

/** The address that settings or the environment set for the provider; the mesh uses no other. Pure. */
function fixedAddress({ address }: ProviderOffer): string | undefined {
  return address !== null && address.from !== 'file' ? address.url : undefined
}

/** Asks for the key, and says where it will be sent. An empty answer is accepted only if it has a meaning. */
async function askKey(
  context: CommandContext,
  { provider, baseUrl }: WantedModel,
  enter: Enter,
): Promise<string> {
  const whose = baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).host : provider
  if (enter === 'nothing') return (await readSecret(context, `Key of ${whose} (not shown): `)).trim()
  const isTyped = context.input.isTTY === true
  const meant = enter === 'no key' ? 'none' : 'the stored key'
  const question = `Key of ${whose} (not shown, Enter for ${meant}): `
  return (isTyped ? await askHidden(context, question) : await readAll(context.input)).trim()
}

export const withoutProvider = (model: string, provider: string): string =>
  model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model

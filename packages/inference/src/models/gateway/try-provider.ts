import type { Clock } from '@flotilla/protocol/clock'
import { Problem, withChanges } from '@flotilla/protocol/problem'
import type { ProviderSettings, ProxyRules, Settings } from '@flotilla/foundation/config'
import { createSecret } from '@flotilla/egress/credentials'
import type { Vault } from '@flotilla/egress/credentials'
import { problemFromRefusal } from './provider-problem.ts'
import { listProviderModels } from '../providers/list-provider-models.ts'
import { proxyOf } from '../providers/make-provider.ts'
import type { MakeProvider } from '../providers/make-provider.ts'
import {
  boundFieldAt,
  credentialNamesOf,
  isOwnServer,
  ownServerKey,
  setupOf,
} from '../providers/provider-setup.ts'
import type { ProviderSetup } from '../providers/provider-setup.ts'
import { readReplyText } from '../providers/read-reply-text.ts'

/** The time limit for one answer: a small machine first loads the model from disk. */
const answerTimeoutMs = 60_000
/** The token bound of the test answer: thinking counts too, and some providers fail if it uses up the bound. */
const answerMaxTokens = 512
const answerMaxBytes = 256 * 1024
/** A placeholder key to look up an address; no request is sent with it. */
const whicheverKey = 'whichever'

/** A provider to set up; null uses the stored value or the default. */
export interface ProviderCandidate {
  readonly provider: string
  readonly key: string | null
  readonly baseUrl: string | null
}

/** Tests a provider before its setup is saved. Throws the Problem `not-configured` if a value is missing. */
export interface TryProvider {
  /** Returns the models that the provider lists; empty if it offers no list. */
  models(candidate: ProviderCandidate, signal: AbortSignal): Promise<readonly string[]>
  /**
   * Asks the model for one word, in the form of an agent's request. Throws the provider's refusal as a Problem
   * without the key and with the next step for the owner; `upstream-timeout` after a minute.
   */
  ask(candidate: ProviderCandidate, model: string, signal: AbortSignal): Promise<void>
  /** The address that a key of the provider would be sent to, with or without a saved key; null if unknown. */
  addressOf(provider: string): string | null
  /** Whether the saved credentials and the settings are enough to call the provider. */
  isReady(provider: string): boolean
}

export function createTryProvider(deps: {
  readonly settings: () => Settings
  readonly vault: Pick<Vault, 'system'>
  readonly makeProvider: MakeProvider
  readonly clock: Clock
  readonly proxies?: Pick<ProxyRules, 'of'>
}): TryProvider {
  function setupFor(candidate: ProviderCandidate): ProviderSetup {
    const { provider, key, baseUrl } = candidate
    const settings = withOwnServer(deps.settings(), candidate)
    const names = credentialNamesOf(settings, provider)
    const given = new Map(
      [
        [names.apiKey, key],
        [names.baseUrl, baseUrl],
      ].flatMap(([name, value]) => (name && value ? [[name, createSecret(name, value)] as const] : [])),
    )
    return setupOf(
      { settings: () => settings, system: (name) => given.get(name) ?? deps.vault.system(name) },
      provider,
    )
  }

  function setupOrNull(candidate: ProviderCandidate): ProviderSetup | null {
    try {
      return setupFor(candidate)
    } catch {
      return null
    }
  }

  return {
    addressOf: (provider) => {
      const setup = setupOrNull({ provider, key: whicheverKey, baseUrl: null })
      return setup !== null && 'baseUrl' in setup ? setup.baseUrl : null
    },
    isReady: (provider) => setupOrNull({ provider, key: null, baseUrl: null }) !== null,
    models: (candidate, signal) =>
      within(deps.clock, signal, (late) => {
        const setup = setupFor(candidate)
        return listProviderModels(setup, late, proxyOf(deps, setup))
      }),
    ask: (candidate, model, signal) =>
      within(deps.clock, signal, async (late) => {
        const setup = setupFor(candidate)
        const llm = deps.makeProvider(setup)
        try {
          const boundField = boundFieldAt('baseUrl' in setup ? setup.baseUrl : null)
          const parameters = {
            model,
            messages: [{ role: 'user', content: 'Answer with one word: ready' }],
            [boundField]: answerMaxTokens,
          }
          const request = { form: 'chat', agentId: 'setup', model, stream: false, parameters } as const
          const completion = llm.complete({ ...request, body: JSON.stringify(parameters) }, { signal: late })
          const reply = await completion
          if (reply.status < 200 || reply.status > 299) {
            const secrets = 'apiKey' in setup && setup.apiKey ? [setup.apiKey] : []
            const baseUrl = 'baseUrl' in setup ? setup.baseUrl : null
            throw await problemFromRefusal(reply, { provider: candidate.provider, baseUrl, secrets })
          }
          await readReplyText(reply, answerMaxBytes)
        } catch (error) {
          throw error instanceof Problem ? untold(error, candidate.provider) : error
        } finally {
          await llm.close()
        }
      }),
  }
}

/**
 * Returns the settings with the own server as they will be stored. A server without a key names no credential, so that
 * a key left from a removed server of this name is never sent to it. Pure.
 */
function withOwnServer(settings: Settings, { provider, key, baseUrl }: ProviderCandidate): Settings {
  const entry = isOwnServer(settings, provider) ? ownServerEntry(settings, { provider, key, baseUrl }) : null
  return entry === null ? settings : { ...settings, providers: { ...settings.providers, [provider]: entry } }
}

/** Returns the entry of an own server in the settings; null without an address. Pure. */
export function ownServerEntry(
  { providers }: Pick<Settings, 'providers'>,
  { provider, key, baseUrl }: ProviderCandidate,
): Extract<ProviderSettings, { kind: 'openai-compatible' }> | null {
  const stored = Object.hasOwn(providers, provider) ? providers[provider] : undefined
  // An entry for another address is replaced as a whole, so that no key follows it to this address.
  const isSame = stored?.kind === 'openai-compatible' && (baseUrl ?? stored.base_url) === stored.base_url
  const own = isSame ? stored : undefined
  const address = baseUrl ?? own?.base_url ?? null
  if (address === null) return null
  const apiKey = own?.api_key ?? (key === null ? undefined : ownServerKey(provider))
  return {
    ...(own ?? { kind: 'openai-compatible' }),
    base_url: address,
    ...(apiKey === undefined ? {} : { api_key: apiKey }),
  }
}

/**
 * Replaces the repair text: nothing is saved yet, so no file has a variable to correct; the owner can retry. Pure.
 */
function untold(problem: Problem, provider: string): Problem {
  if (problem.code === 'provider-refused')
    return withChanges(problem, { repair: `Nothing was saved. Enter another key of ${provider}.` })
  if (problem.code === 'model-unknown')
    return withChanges(problem, { repair: `Nothing was saved. Choose another model of ${provider}.` })
  if (problem.code === 'provider-unreachable') {
    return withChanges(problem, {
      repair: `Nothing was saved. Check the network of this machine, or enter the address of ${provider} (at the terminal: flotilla init --base-url URL).`,
    })
  }
  return problem
}

async function within<T>(
  clock: Clock,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const done = new AbortController()
  clock.sleep(answerTimeoutMs, done.signal).then(
    () =>
      late.abort(
        new Problem('upstream-timeout', {
          detail: `the provider did not answer within ${answerTimeoutMs / 1000} s`,
        }),
      ),
    () => {},
  )
  try {
    return await work(AbortSignal.any([outer, late.signal]))
  } finally {
    done.abort()
  }
}

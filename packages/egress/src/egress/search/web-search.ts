import type { Clock } from '@flotilla/protocol/clock'
import { jsonLimits } from '@flotilla/protocol/limits'
import { webSearchBounds } from '@flotilla/protocol/tool-api'
import type { WebResult, WebSearchRequest } from '@flotilla/protocol/tool-api'
import { Problem } from '@flotilla/protocol/problem'
import { readJson } from '@flotilla/foundation/intake'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard, RunTicket } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { ScrubFor, Secret } from '../../credentials/index.ts'
import { startDeadline } from '../fetch/deadline.ts'
import type { PinnedFetch, PinnedReply } from '../fetch/pinned-fetch.ts'
import { searchProviders } from './search-providers.ts'
import type { SearchProviderName } from './search-providers.ts'

/** The time limit for an answer of the search provider, in milliseconds. */
const answerTimeoutMs = 20_000
/** Limit of a decompressed answer in bytes; twenty results of any provider need a fifth of it. */
const replyMaxBytes = 2 * 1024 * 1024

export interface WebSearchSettings {
  readonly provider: SearchProviderName
  readonly credential?: string | undefined
  readonly url?: string | undefined
}

export interface SearchSources {
  /** The current `web_search` settings. */
  readonly settings: () => WebSearchSettings | undefined
  readonly system: (name: string) => Secret | undefined
}

export interface SearchSetup {
  readonly name: SearchProviderName
  readonly base: string
  readonly key: Secret | null
}

/** Returns the configured provider. Throws the problem `not-configured`, which says what to set where. */
export function searchSetup(sources: SearchSources): SearchSetup {
  const settings = sources.settings()
  if (settings === undefined) {
    throw new Problem('not-configured', {
      detail:
        'web search is not set up: the owner writes {"web_search": {"provider": "searxng", "url": "http://HOST:PORT"}} into config/settings.json, or names the provider brave, tavily or serper there and puts its key into .env',
    })
  }
  const { provider: name } = settings
  const provider = searchProviders[name]
  const base = settings.url ?? provider.publicUrl
  if (base === null)
    throw new Problem('not-configured', {
      detail: `web_search.url is missing in config/settings.json, and ${name} has no default address`,
    })
  if (provider.keyHeader === null) return { name, base, key: null }
  const credential = settings.credential ?? `${name}_api_key`
  const key = sources.system(credential) ?? null
  if (key !== null) return { name, base, key }
  throw new Problem('not-configured', {
    detail: `web search needs the key of ${name}: put FLOTILLA_SYSTEM_${credential.toUpperCase()}=KEY into .env in the home and restart the mesh`,
  })
}

export interface WebSearchReply {
  readonly provider: string
  readonly results: WebResult[]
}

/**
 * Searches the web for an agent with the configured provider. The key is sent only to that provider: redirects are
 * not followed. Throws `denied`, `not-configured`, `address-refused`, `rate-limited` if the provider says so,
 * `upstream-failed`, `upstream-timeout`.
 */
export type WebSearch = (
  caller: Caller,
  request: WebSearchRequest,
  signal: AbortSignal,
) => Promise<WebSearchReply>

export interface WebSearchDeps extends SearchSources {
  readonly guard: Guard
  readonly fetchFor: (agentId: string) => PinnedFetch
  readonly journal: Journal
  readonly clock: Clock
  readonly holdLease: (run: RunTicket | null) => () => void
  readonly scrubFor: ScrubFor
  readonly loop: Pick<LoopShare, 'inSteps' | 'spend'>
}

export function createWebSearch(deps: WebSearchDeps): WebSearch {
  return async (caller, request, signal) => {
    deps.guard(caller, { do: 'call-api', api: 'web_search' })
    if (caller.kind !== 'agent') throw new Problem('denied')
    const setup = searchSetup(deps)
    const record = (detail: Record<string, string | number>) =>
      deps.journal.append({
        actor: actorOf(caller),
        action: 'web.searched',
        subject: setup.name,
        detail: { query_chars: request.query.length, ...detail },
      })
    const deadline = startDeadline(deps.clock, answerTimeoutMs, signal)
    const release = deps.holdLease(caller.run)
    try {
      const found = await ask(deps, setup, { agentId: caller.agentId, request, signal: deadline.signal })
      const { results } = found
      record({ status: found.status, results: results.length })
      return { provider: setup.name, results }
    } catch (error) {
      record({ problem: error instanceof Problem ? error.code : 'failed' })
      throw error
    } finally {
      deadline.clear()
      release()
    }
  }
}

async function ask(
  deps: WebSearchDeps,
  setup: SearchSetup,
  input: { readonly agentId: string; readonly request: WebSearchRequest; readonly signal: AbortSignal },
): Promise<{ readonly status: number; readonly results: WebResult[] }> {
  const { agentId, request, signal } = input
  const provider = searchProviders[setup.name]
  const call = provider.call(setup.base, request)
  const { keyHeader } = provider
  const key: Record<string, string> =
    keyHeader === null || setup.key === null
      ? {}
      : { [keyHeader.name]: `${keyHeader.prefix}${setup.key.reveal()}` }
  const reply = await deps.fetchFor(agentId)({ ...call, headers: { ...call.headers, ...key } }, signal)
  try {
    if (reply.status !== 200) throw refusal(setup, reply)
    const scrub = deps.scrubFor(setup.key === null ? [] : [setup.key])
    const body = await readWhole(reply, signal)
    const text = await deps.loop.inSteps(agentId, scrub.inSteps(body), 'finish')
    const results = deps.loop
      .spend(agentId, () => readResults(setup.name, text))
      .slice(0, Math.min(request.count, webSearchBounds.resultsMax))
    return { status: reply.status, results }
  } finally {
    await reply.close()
  }
}

function readResults(name: SearchProviderName, text: string): readonly WebResult[] {
  try {
    return searchProviders[name].read(readJson(text, jsonLimits.serverReply))
  } catch (cause) {
    throw new Problem('upstream-failed', { detail: `${name} answered in an unknown form`, cause })
  }
}

function refusal({ name, base }: SearchSetup, reply: PinnedReply): Problem {
  const { status } = reply
  const hint = searchProviders[name].hints[status]
  const isRedirect = status >= 300 && status < 400
  const reason = isRedirect
    ? 'the mesh does not follow redirects; write the final address into web_search.url in config/settings.json'
    : hint
  const detail = `${name} at ${new URL(base).host} answered ${status}${reason === undefined ? '' : `: ${reason}`}`
  if (status !== 429) return new Problem('upstream-failed', { detail })
  const seconds = Number(reply.headers['retry-after'])
  return new Problem('rate-limited', {
    detail,
    retryAfterSeconds: Number.isFinite(seconds) && seconds > 0 ? Math.min(Math.ceil(seconds), 3600) : 60,
  })
}

async function readWhole(reply: PinnedReply, signal: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of reply.body) {
      signal.throwIfAborted()
      bytes += chunk.length
      if (bytes > replyMaxBytes) break
      chunks.push(chunk)
    }
  } catch (cause) {
    if (signal.aborted) throw signal.reason
    throw new Problem('upstream-failed', {
      detail: 'the answer of the search provider was interrupted',
      cause,
    })
  }
  if (bytes > replyMaxBytes) {
    throw new Problem('upstream-failed', {
      detail: `the answer of the search provider has more than ${replyMaxBytes} bytes`,
    })
  }
  return Buffer.concat(chunks).toString('utf8')
}

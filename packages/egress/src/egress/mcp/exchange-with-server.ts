import type { Clock } from '@flotilla/protocol/clock'
import type { mcpAgentApi } from '@flotilla/protocol/mcp-api'
import { shownAddress } from '@flotilla/protocol/mcp-servers'
import type { McpServers, RemoteMcpServer } from '@flotilla/protocol/mcp-servers'
import { Problem } from '@flotilla/protocol/problem'
import type * as z from 'zod/mini'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard, RunTicket } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import { outcomeUnknown } from '@flotilla/foundation/effects'
import type { OpenCredentials } from '../../credentials/index.ts'
import type { HeldBytes, LoopShare, ShareFull } from '@flotilla/foundation/intake'
import { startDeadline } from '../fetch/deadline.ts'
import type { PinnedFetch, PinnedReply } from '../fetch/pinned-fetch.ts'
import { checkedHeaders } from '../fetch/request-headers.ts'
import { scrubbedStream } from '../fetch/scrubbed-stream.ts'
import { createOpenPlaces } from '@flotilla/foundation/intake'
import { withoutSecrets } from '../fetch/without-secrets.ts'
import type { CheckEffect } from '@flotilla/identity/policy'
import { requireAllowed } from './require-allowed.ts'
import type { AskCall } from './require-allowed.ts'
import { requireServer } from './require-server.ts'
import { serverEffects } from './server-effects.ts'
import { createCleanPart } from './clean-parts.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

export type ServerExchange = z.infer<typeof mcpAgentApi.mcpExchange.request>

export interface StreamedReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body with secrets removed. Fails at a limit, or if the server breaks the connection. */
  readonly body: AsyncIterable<Uint8Array>
  /** Aborts if the time limit passes or the run ends before the body was read; the route then drops the client. */
  readonly cut: AbortSignal
}

/**
 * Carries out one HTTP exchange of an agent with one of its MCP servers. The owner configured address and headers;
 * the agent names the server. Permission, filter, audit log and credentials are those of `http_request`; redirects
 * are reported and not followed. The caller must read the body to its end or abort the signal. Problems as for
 * `http_request`, `not-found` for a server that the agent does not have, and `outcome-unknown` if the exchange broke
 * off after a tool may have been called.
 */
export type ExchangeWithServer = (
  caller: Caller,
  exchange: ServerExchange & {
    /** Called right before the first byte leaves; if it throws, nothing is sent. */
    readonly onLeaving?: () => void
  },
  signal: AbortSignal,
) => Promise<StreamedReply>

export const exchangeBounds = {
  /** Time limit from the request to the end of its answer. */
  answerMaxMs: 11 * 60_000,
  /** A stream that the agent listens to ends with its run, or after this time. */
  listenMaxMs: 60 * 60_000,
  /** How often the run is checked for being alive. */
  liveCheckMs: 1000,
  /** Bytes of one answer, and of one event or of an answer that is not an event stream. */
  bytesMax: 32 * 1024 * 1024,
  partMaxBytes: 4 * 1024 * 1024,
} as const

/** The headers of a reply that MCP transports read. */
const shownHeaderNames = [
  'allow',
  'content-type',
  'location',
  'mcp-protocol-version',
  'mcp-session-id',
  'retry-after',
  'www-authenticate',
] as const
/** The maximum length of one header of an MCP server's answer that an agent gets, in characters. */
const headerValueMaxChars = 2000

export interface ExchangeDeps {
  readonly guard: Guard
  readonly serversOf: (agentId: string) => McpServers
  readonly fetchFor: (agentId: string) => PinnedFetch
  readonly journal: Journal
  readonly clock: Clock
  readonly holdLease: (run: RunTicket | null) => () => void
  readonly credentials: OpenCredentials
  /** True if the run of an open exchange has ended, which aborts the exchange. */
  readonly isOver: (agentId: string, run: RunTicket | null) => boolean
  /** What to do with a call that a rule asks for: store it for a person and throw; nothing if one has approved it. */
  readonly ask: AskCall
  /** Cleaning is charged to the calling agent's share. */
  readonly loop: Pick<LoopShare, 'inSteps' | 'waitMs' | 'spend'>
  readonly checkEffect: CheckEffect
  /** Counts parts while they arrive. */
  readonly held: HeldBytes
}

export function createExchangeWithServer(deps: ExchangeDeps): ExchangeWithServer {
  const places = createOpenPlaces(agentShareLimits.mcpExchanges)
  const cleanPart = createCleanPart(deps)
  return async (caller, exchange, outer) => {
    deps.guard(caller, { do: 'call-api', api: 'http' })
    if (caller.kind !== 'agent') throw new Problem('denied')
    const { agentId, run } = caller
    const server = requireServer(deps.serversOf(agentId), exchange.server)
    const written = {
      url: addressOf(server, exchange.url),
      headers: { ...checkedHeaders(exchange.headers), ...checkedHeaders(server.headers) },
      body: exchange.body,
    }
    const request = deps.checkEffect.isActive()
      ? deps.loop.spend(agentId, () => requireAllowed(deps, caller, { exchange, written }))
      : written
    const credentials = deps.credentials(caller)
    const filled = credentials.fillIn(request)
    const leave = places.enter(agentId)
    if (typeof leave === 'string') throw tooManyExchanges(leave)
    const listens = exchange.method === 'GET'
    const { listenMaxMs, answerMaxMs } = exchangeBounds
    const over = new AbortController()
    const cut = new AbortController()
    const deadline = startDeadline(
      deps.clock,
      listens ? listenMaxMs : answerMaxMs,
      AbortSignal.any([outer, over.signal]),
    )
    let isRead = false
    deadline.signal.addEventListener('abort', () => isRead || cut.abort(deadline.signal.reason), {
      once: true,
    })
    void cutWithRun(deps, { agentId, run, over })
    // A stream that the agent only listens to is no sign of work, so it does not extend the lease of the run.
    const release = listens ? () => {} : deps.holdLease(run)
    const end = (detail: Record<string, string | number>): void => {
      isRead = true
      over.abort()
      deadline.clear()
      release()
      leave()
      deps.journal.append({
        actor: actorOf(caller),
        action: 'mcp.exchanged',
        subject: filled.url.host,
        detail: { server: exchange.server, method: exchange.method, ...detail },
      })
    }
    let reply: PinnedReply
    let hasLeft = false
    const onLeaving = (): void => {
      exchange.onLeaving?.()
      hasLeft = true
    }
    try {
      reply = await deps.fetchFor(agentId)({ ...filled, method: exchange.method, onLeaving }, deadline.signal)
    } catch (error) {
      end({ problem: error instanceof Problem ? error.code : 'failed' })
      const scrubbedError = withoutSecrets(error, credentials.scrub)
      throw hasLeft && mayHaveEffect(exchange) ? outcomeUnknown(scrubbedError) : scrubbedError
    }
    const close = async (bytes: number, problem?: string): Promise<void> => {
      await reply.close()
      end({ status: reply.status, bytes, ...(problem === undefined ? {} : { problem }) })
    }
    const body = scrubbedStream(reply, {
      clean: (part) => cleanPart({ agentId, scrub: credentials.scrub, signal: deadline.signal }, part),
      held: {
        take: (bytes) => deps.held.take(agentId, bytes),
        giveBack: (bytes) => deps.held.giveBack(agentId, bytes),
      },
      signal: deadline.signal,
      ...exchangeBounds,
      close,
    })
    return {
      status: reply.status,
      headers: shownHeaders(credentials.scrub.record(reply.headers)),
      body,
      cut: cut.signal,
    }
  }
}

/** True if the exchange calls a tool: opening, listing, listening and ending a session can be repeated. */
function mayHaveEffect(exchange: ServerExchange): boolean {
  return serverEffects(exchange).tools.length > 0
}

function tooManyExchanges(full: ShareFull): Problem {
  return new Problem('rate-limited', {
    detail:
      full === 'agent'
        ? `${agentShareLimits.mcpExchanges.perAgentMax} calls of this agent to MCP servers are in progress, the maximum for one agent`
        : 'the fleet has the maximum number of calls to MCP servers in progress',
    retryAfterSeconds: 5,
  })
}

/** Returns the configured address with handles, or a `requestedUrl` of the same origin. Problem `address-refused`. */
function addressOf(server: RemoteMcpServer, requestedUrl: string | null): string {
  if (requestedUrl === null) return server.url
  const own = new URL(shownAddress(server.url))
  if (URL.canParse(requestedUrl) && new URL(requestedUrl).origin === own.origin) return requestedUrl
  throw new Problem('address-refused', {
    detail: `calls to this MCP server may only go to its own origin, ${own.origin}`,
  })
}

/** Aborts the exchange when its run ends. */
async function cutWithRun(
  deps: Pick<ExchangeDeps, 'clock' | 'isOver'>,
  { agentId, run, over }: { agentId: string; run: RunTicket | null; over: AbortController },
): Promise<void> {
  try {
    while (!over.signal.aborted) {
      await deps.clock.sleep(exchangeBounds.liveCheckMs, over.signal)
      if (deps.isOver(agentId, run)) over.abort(new Problem('stale-fence'))
    }
  } catch {
    // The exchange has ended already.
  }
}

function shownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    shownHeaderNames.flatMap((name) => {
      const value = headers[name]
      return value === undefined ? [] : [[name, value.slice(0, headerValueMaxChars)]]
    }),
  )
}

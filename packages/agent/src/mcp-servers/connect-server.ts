import type { McpBrief } from '@flotilla/protocol/mcp-servers'
import type { Clock } from '@flotilla/protocol/clock'
import type { Problem } from '@flotilla/protocol/problem'
import type { Client, Transport } from '@modelcontextprotocol/client'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { createLocalTransport } from './local-transport.ts'
import { createMeshFetch } from './mesh-fetch.ts'

export type McpSdk = typeof import('../parts/mcp.ts')

/** Pages of a list of tools that are read. */
const listPagesMax = 8
/** Part of the time to start that a server may be silent about the current protocol before the older one is spoken. */
const probeShare = 0.3
/** What servers of the older transport say to the first request of the current one. */
const olderStatuses: readonly number[] = [400, 404, 405, 406, 415]

/** An open connection, with what the server listed when it was opened. */
export interface Connection {
  readonly client: Client
  readonly listed: readonly unknown[]
  /** Holds a stream open all the time, which no run may leave behind. */
  readonly listens: boolean
  /** In words how the other end ended; null where nobody knows. */
  ended(): string | null
  close(): Promise<void>
}

export interface ConnectDeps {
  readonly sdk: McpSdk
  readonly brief: McpBrief
  readonly mesh: () => RunMesh | null
  readonly environment: Readonly<Record<string, string>>
  readonly directory: string
  readonly clock: Clock
  readonly onProblem: (problem: Problem) => void
  readonly onToolsChanged: () => void
}

/** What the servers say of their results is not checked: a schema of theirs would become code here. */
const takesAnything = {
  getValidator: () => (input: unknown) => ({
    valid: true as const,
    data: input as never,
    errorMessage: undefined,
  }),
}

/**
 * Connects to a server and asks for its tools. The current protocol is tried first; one that does not know it is spoken
 * to in the version that it offers, and over the older HTTP+SSE where it knows no other transport. Rejects with what the
 * last try met; nothing stays open then.
 */
export async function connectServer(deps: ConnectDeps, signal: AbortSignal): Promise<Connection> {
  return deps.brief.kind === 'local' ? openLocal(deps, signal) : openRemote(deps, deps.brief, signal)
}

/**
 * A server stays for as long as the agent does and mostly waits. Where it is a Node program, its heap grows for what is
 * new by 3 MB at most and not by 48; who needs more says so in the server's own environment.
 */
const smallHeap = { NODE_OPTIONS: '--max-semi-space-size=1' }

async function openLocal(deps: ConnectDeps, signal: AbortSignal): Promise<Connection> {
  let last: string | null = null
  const attempt = async (mode: 'auto' | 'legacy') => {
    const { brief } = deps
    if (brief.kind !== 'local') throw new Error('this server is on the network')
    const transport = createLocalTransport(deps.sdk, {
      ...brief,
      environment: { ...smallHeap, ...deps.environment, ...brief.env },
      directory: deps.directory,
      clock: deps.clock,
    })
    try {
      return await connect(deps, { transport, mode, listens: false, ended: transport.ended, signal })
    } catch (error) {
      last = transport.ended()
      throw last === null ? error : new Error(last, { cause: error })
    }
  }
  try {
    return await attempt('auto')
  } catch (error) {
    // Some end at a first word that they do not know.
    if (signal.aborted || last === null) throw error
    return attempt('legacy')
  }
}

async function openRemote(
  deps: ConnectDeps,
  brief: Extract<McpBrief, { kind: 'remote' }>,
  signal: AbortSignal,
): Promise<Connection> {
  const url = new URL(brief.url)
  const { sdk } = deps
  const fetchFor = (listens: boolean) =>
    createMeshFetch({ ...deps, server: brief.name, address: url.href, listens })
  if (brief.transport !== 'sse') {
    try {
      const transport = new sdk.StreamableHTTPClientTransport(url, { fetch: fetchFor(false) })
      return await connect(deps, { transport, mode: 'auto', listens: false, ended: () => null, signal })
    } catch (error) {
      if (brief.transport === 'http' || signal.aborted || !olderStatuses.includes(statusOf(error)))
        throw error
    }
  }
  const transport = new sdk.SSEClientTransport(url, { fetch: fetchFor(true) })
  return connect(deps, { transport, mode: 'legacy', listens: true, ended: () => null, signal })
}

async function connect(
  { sdk, brief, onToolsChanged }: ConnectDeps,
  way: {
    readonly transport: Transport
    readonly mode: 'auto' | 'legacy'
    readonly listens: boolean
    readonly ended: () => string | null
    readonly signal: AbortSignal
  },
): Promise<Connection> {
  const { transport, mode, listens, ended, signal } = way
  const timeout = brief.startupTimeoutMs
  const local = brief.kind === 'local'
  const probe = local ? { timeoutMs: Math.round(timeout * probeShare) } : {}
  const client = new sdk.Client(
    { name: 'flotilla-agent', version: '1' },
    {
      capabilities: {},
      jsonSchemaValidator: takesAnything,
      listMaxPages: listPagesMax,
      versionNegotiation: { mode, probe },
      // Over the network this would hold a stream open beyond the run; there the list is asked for with every run.
      ...(local ? { listChanged: { tools: { autoRefresh: false, onChanged: onToolsChanged } } } : {}),
    },
  )
  const close = async (): Promise<void> => {
    await client.close().catch(() => undefined)
    await transport.close().catch(() => undefined)
  }
  // Nothing of a server that came too late goes on, whatever it is doing.
  const giveUp = (): void => void close()
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    signal.throwIfAborted()
    await client.connect(transport, { timeout, signal })
    if (!local) client.setNotificationHandler('notifications/tools/list_changed', onToolsChanged)
    const { tools } = await client.listTools(undefined, { timeout, signal, cacheMode: 'refresh' })
    return { client, listed: tools, listens, ended, close }
  } catch (error) {
    await close()
    throw error
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** Of a reply that the SDK gave up on, also where it says so in other words; 0 for none. */
export function statusOf(thrown: unknown): number {
  let error: unknown = thrown
  for (let depth = 0; depth < 5 && typeof error === 'object' && error !== null; depth += 1) {
    const data: unknown = 'data' in error ? error.data : null
    if (typeof data === 'object' && data !== null && 'status' in data) return Number(data.status)
    error = 'cause' in error ? error.cause : null
  }
  return 0
}

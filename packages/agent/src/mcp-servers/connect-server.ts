import type { McpBrief } from '@flotilla/protocol/mcp-servers'
import type { Clock } from '@flotilla/protocol/clock'
import type { Problem } from '@flotilla/protocol/problem'
import type { Client, Transport } from '@modelcontextprotocol/client'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { createLocalTransport } from './local-transport.ts'
import { createMeshFetch } from './mesh-fetch.ts'

export type McpSdk = typeof import('../parts/mcp.ts')

/** Number of pages of a tool list that are read. */
const listPagesMax = 8
/** Share of the start timeout that a server may take to answer the current protocol before the older one is tried. */
const probeShare = 0.3
/** Statuses with which servers of the older transport answer the first request of the current one. */
const olderStatuses: readonly number[] = [400, 404, 405, 406, 415]

/** An open connection, with the server's tool list at opening. */
export interface Connection {
  readonly client: Client
  readonly listed: readonly unknown[]
  /** True for a transport that keeps a stream open all the time; such a stream must not outlive a run. */
  readonly listens: boolean
  /** How the other end ended, as text; null when unknown. */
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

/** Result schemas of servers are not checked: a foreign schema would become code here. */
const takesAnything = {
  getValidator: () => (input: unknown) => ({
    valid: true as const,
    data: input as never,
    errorMessage: undefined,
  }),
}

/**
 * Connects to a server and lists its tools. The current protocol is tried first, then the version that the
 * server offers, and the older HTTP+SSE if it supports no other transport. Rejects with the error of the last
 * try; nothing stays open then.
 */
export async function connectServer(deps: ConnectDeps, signal: AbortSignal): Promise<Connection> {
  return deps.brief.kind === 'local' ? openLocal(deps, signal) : openRemote(deps, deps.brief, signal)
}

/**
 * A server lives as long as the agent and is mostly idle. If it is a Node program, its young generation is
 * limited to 3 MB instead of 48; a server that needs more sets this in its own environment.
 */
const smallHeap = { NODE_OPTIONS: '--max-semi-space-size=1' }

async function openLocal(deps: ConnectDeps, signal: AbortSignal): Promise<Connection> {
  let last: string | null = null
  const attempt = async (mode: 'auto' | 'legacy') => {
    const { brief } = deps
    if (brief.kind !== 'local')
      throw new Error('the MCP server is on the network, not a program in the container')
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
    // Some servers exit when the first message is of an unknown protocol, so the older protocol is tried.
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
      // A remote server would need an open stream after the run; its list is requested with every run instead.
      ...(local ? { listChanged: { tools: { autoRefresh: false, onChanged: onToolsChanged } } } : {}),
    },
  )
  const close = async (): Promise<void> => {
    await client.close().catch(() => undefined)
    await transport.close().catch(() => undefined)
  }
  // A server that connects too late is closed, even in the middle of a message.
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

/** The HTTP status of a reply that the SDK gave up on, also if only the text says so; 0 for none. */
export function statusOf(thrown: unknown): number {
  let error: unknown = thrown
  for (let depth = 0; depth < 5 && typeof error === 'object' && error !== null; depth += 1) {
    const data: unknown = 'data' in error ? error.data : null
    if (typeof data === 'object' && data !== null && 'status' in data) return Number(data.status)
    error = 'cause' in error ? error.cause : null
  }
  return 0
}

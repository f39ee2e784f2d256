import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { parseAsWritten } from '@flotilla/protocol/json-as-written'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Clock } from '@flotilla/protocol/clock'
import type { McpServerStatus } from '@flotilla/protocol/mcp-api'
import type { McpBrief } from '@flotilla/protocol/mcp-servers'
import type { Log } from '@flotilla/protocol/json-log'
import { Problem } from '@flotilla/protocol/problem'
import { unlessAborted } from '@flotilla/protocol/unless-aborted'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'
import { boundSchemas } from './bound-schemas.ts'
import { nameTools } from './name-tools.ts'
import type { NamedTool } from './name-tools.ts'
import { formatResult } from './format-result.ts'
import { createServerConnection } from './server-connection.ts'
import type { ServerConnection } from './server-connection.ts'
import { serversTool } from './servers-tool.ts'
import { whyNotOf } from './fits-schema.ts'

/** A program that was not used for this long is ended; the next run starts it again. */
const idleMaxMs = 10 * 60_000
const marginMs = 10_000

/** The MCP servers of an agent that has at least one. */
export interface ServerSet {
  /**
   * Applies the configuration, and waits for new servers, which start concurrently, each at most for its
   * start timeout. Rejects only with the signal's reason.
   */
  beginRun(run: {
    readonly briefs: readonly McpBrief[]
    readonly mesh: RunMesh
    readonly signal: AbortSignal
  }): Promise<void>
  endRun(mesh: RunMesh): void
  /** Tools of all servers, under names that are not in `taken`. */
  tools(taken: readonly string[]): readonly Tool[]
  statuses(): readonly McpServerStatus[]
  close(): Promise<void>
}

export interface ServerSetDeps {
  readonly environment: Readonly<Record<string, string>>
  readonly directory: string
  readonly clock: Clock
  readonly log: Log
  /** Called when the tools or the states of the servers may have changed. */
  readonly onChanged: () => void
}

export function createServerSet(deps: ServerSetDeps): ServerSet {
  const { clock, log } = deps
  let known = new Map<string, { readonly key: string; readonly connection: ServerConnection }>()
  let mesh: RunMesh | null = null
  let idle = new AbortController()
  let named: readonly NamedTool[] = []

  const connections = () => [...known.values()].map(({ connection }) => connection)

  /** Servers with unchanged configuration stay; the others are closed without waiting. */
  function configure(briefs: readonly McpBrief[]): void {
    const before = known
    known = new Map(
      briefs.map((brief) => {
        const key = JSON.stringify(brief)
        const kept = before.get(brief.name)
        if (kept?.key === key) return [brief.name, kept]
        const connection = createServerConnection({
          ...deps,
          brief,
          loadSdk: () => import('../parts/mcp.ts'),
          mesh: () => mesh,
        })
        return [brief.name, { key, connection }]
      }),
    )
    for (const [name, { connection }] of before) {
      if (known.get(name)?.connection !== connection) void connection.close()
    }
  }

  async function endWhenIdle(signal: AbortSignal): Promise<void> {
    try {
      await clock.sleep(idleMaxMs, signal)
    } catch {
      return
    }
    log.info(
      { servers: known.size },
      'stopped MCP servers that no run has used; the next run starts them again',
    )
    await closeAll()
  }

  async function closeAll(): Promise<void> {
    const open = connections()
    known = new Map()
    await Promise.all(open.map((connection) => connection.close()))
  }

  function toolFor({ server, tool, name }: NamedTool): Tool {
    const { startupTimeoutMs = 0, callTimeoutMs = 0 } = known.get(server)?.connection.brief ?? {}
    return {
      definition: { name, description: tool.description, parameters: tool.parameters },
      // What the server had done before an interruption is unknown.
      effect: 'local',
      timeoutMs: startupTimeoutMs + callTimeoutMs + marginMs,
      source: `mcp:${server}`,
      deferred: true,
      run: async (input, context) => {
        const connection = known.get(server)?.connection
        if (!connection) return { output: `The MCP server ${server} no longer exists.`, ok: false }
        // Checked only if the model has not read the tool's definition; the server checks each input anyway.
        const reason = context.found?.().has(name) === false ? whyNotOf(tool.parameters, input) : null
        if (reason !== null) throw new Problem('bad-request', { detail: reason })
        const result = await connection.call(tool.name, asWritten(input, context), context.signal)
        const text = formatResult(result)
        return {
          output: text === '' ? 'The MCP server returned an empty answer.' : text,
          ok: result.isError !== true,
        }
      },
    }
  }

  const statuses = (): McpServerStatus[] =>
    connections().map((connection) => ({
      name: connection.brief.name,
      ...connection.status(),
      tools: named.filter(({ server }) => server === connection.brief.name).map(({ name }) => name),
    }))

  return {
    beginRun: async (run) => {
      idle.abort()
      mesh = run.mesh
      configure(run.briefs)
      const hopeful = connections().filter((connection) => connection.isHopeful())
      for (const connection of connections()) {
        if (!hopeful.includes(connection)) void connection.ensure()
        else connection.refresh()
      }
      await unlessAborted(Promise.all(hopeful.map((connection) => connection.ensure())), run.signal)
    },
    endRun: (ended) => {
      if (mesh !== ended) return
      mesh = null
      for (const connection of connections()) void connection.runEnded()
      idle = new AbortController()
      void endWhenIdle(idle.signal)
    },
    tools: (taken) => {
      const listing = serversTool({
        statuses,
        restart: async (name) => {
          const connection = known.get(name)?.connection
          await connection?.ensure({ now: true })
          return connection !== undefined
        },
      })
      const servers = connections().map((connection) => ({
        name: connection.brief.name,
        tools: connection.tools(),
      }))
      const { named: offered, leftOut } = nameTools(servers, [...taken, listing.name])
      if (leftOut > 0)
        log.warn({ leftOut }, 'MCP servers offer more tools than the limit; ignoring the last ones')
      const bounded = boundSchemas(offered)
      if (bounded.leftOut > 0) {
        log.warn(
          { tools: bounded.leftOut },
          'schemas of MCP servers exceed the limit; the longest are not shown to the model',
        )
      }
      named = offered
      return [...(taken.includes(listing.name) ? [] : [listing.tool()]), ...bounded.tools.map(toolFor)]
    },
    statuses,
    close: async () => {
      idle.abort()
      await closeAll()
    },
  }
}

/** The input as the model wrote it: 64-bit ids and long fractions reach the server unchanged. Pure. */
function asWritten(input: JsonObject, { written }: Pick<ToolContext, 'written'>): JsonObject {
  if (written === undefined || written.trim() === '') return input
  const exact: unknown = parseAsWritten(written)
  return isJsonObject(exact) ? exact : input
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import type { McpServerStatus } from '@flotilla/protocol/mcp-api'
import type { McpBrief } from '@flotilla/protocol/mcp-servers'
import type { Log } from '@flotilla/protocol/json-log'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { Tool } from '../tools/tool.ts'
import type { ServerSet } from './server-set.ts'

/**
 * Tools of MCP servers, for an agent whose bootstrap files name some. Nothing is loaded or started for any
 * other agent.
 */
export interface McpToolset {
  /**
   * Adds the servers' tools at the end of a run's list, and updates them while the run executes. The servers
   * start with the first run.
   */
  offer(
    tools: Tool[],
    run: { readonly mesh: RunMesh; readonly signal: AbortSignal },
  ): Promise<readonly Tool[]>
  /** Updates the servers' tools in the list given to `offer`, after other tools in that list have changed. */
  arrange(): void
  tools(): readonly Tool[]
  statuses(): readonly McpServerStatus[]
  close(): Promise<void>
}

export function createMcpToolset(deps: {
  readonly briefingDirectory: string
  /**
   * Names of all of the agent's own tools, also those not offered: the trust of their results depends on the name.
   */
  readonly ownNames: readonly string[]
  /** Environment that programs of the agent may see. */
  readonly environment: Readonly<Record<string, string>>
  readonly directory: string
  readonly clock: Clock
  readonly log: Log
}): McpToolset {
  const path = join(deps.briefingDirectory, 'mcp.json')
  let set: ServerSet | null = null
  let offered: Tool[] = []
  let own: readonly Tool[] = []

  async function readBriefs(): Promise<readonly McpBrief[]> {
    const text = await readFile(path, 'utf8').catch(() => null)
    // The file is trusted, because only the mesh can write in the directory of bootstrap files.
    return text === null ? [] : (JSON.parse(text) as readonly McpBrief[])
  }

  function arrange(): void {
    if (!set) return
    const others = offered.filter((tool) => !own.includes(tool))
    own = set.tools([...deps.ownNames, ...others.map(({ definition }) => definition.name)])
    offered.splice(others.length, Infinity, ...own)
  }

  return {
    offer: async (tools, { mesh, signal }) => {
      const briefs = await readBriefs()
      own = []
      offered = tools
      if (briefs.length === 0) {
        await set?.close()
        set = null
        return tools
      }
      if (!set) {
        const { createServerSet } = await import('./server-set.ts')
        set = createServerSet({ ...deps, onChanged: arrange })
      }
      const current = set
      mesh.ended?.addEventListener('abort', () => current.endRun(mesh), { once: true })
      await current.beginRun({ briefs, mesh, signal })
      arrange()
      return offered
    },
    arrange,
    tools: () => own,
    statuses: () => set?.statuses() ?? [],
    close: async () => {
      await set?.close()
    },
  }
}

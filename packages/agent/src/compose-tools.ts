import { randomUUID } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { finderNames } from '@flotilla/protocol/findable-tools'
import { builtinTools } from './builtin-tools/builtin-tools.ts'
import { subagentTools, remindOfUnread } from './builtin-tools/subagents.ts'
import type { AgentEnvironment } from './environment.ts'
import type { DataFiles } from './files/data-files.ts'
import type { Log } from '@flotilla/protocol/json-log'
import { createMcpToolset } from './mcp-servers/mcp-toolset.ts'
import type { McpToolset } from './mcp-servers/mcp-toolset.ts'
import type { Memory } from './memory/memory.ts'
import { believedNames } from './memory/trust.ts'
import type { RunMesh } from './mesh/run-mesh.ts'
import { createSkillRegistry } from './skills/skill-registry.ts'
import type { SubagentPool } from './subagents/subagent-pool.ts'
import { createExclusiveUse } from './tools/exclusive-use.ts'
import type { ExclusiveUse } from './tools/exclusive-use.ts'
import type { Tool } from './tools/tool.ts'
import { createToolFinder, deferTools } from './tools/find-tools.ts'
import { askWithheldTools, nothingWithheld, withholdTools } from './tools/withheld-tools.ts'
import type { WithheldTools } from './tools/withheld-tools.ts'
import type { Workspace } from './workspace/workspace.ts'

export interface ToolParts {
  /** Returns the tools that a run may not use; none when the mesh gives no list. Rejects when the run is stopped. */
  withheldFor(mesh: RunMesh, signal: AbortSignal): Promise<WithheldTools>
  /** The tools of one run: the agent's own, its skills, and those of its MCP servers. */
  offeredTo(run: {
    readonly mesh: RunMesh
    readonly withheld: WithheldTools
    readonly subagents: SubagentPool
    readonly signal: AbortSignal
  }): Promise<readonly Tool[]>
  /** The agent's own tools and the skills it has written so far. */
  listed(subagents: SubagentPool): readonly Pick<Tool, 'definition' | 'source'>[]
  readonly exclusive: ExclusiveUse
  readonly mcp: McpToolset
}

export function composeTools(deps: {
  environment: AgentEnvironment
  files: DataFiles
  workspace: Workspace
  memory: Memory
  clock: Clock
  log: Log
}): ToolParts {
  const { environment, files, clock, log } = deps
  const { dataDirectory, embeddingModel, kind } = environment
  const exclusive = createExclusiveUse()
  const tools = builtinTools({
    ...deps,
    embeddingModel,
    dataDirectory,
    programEnvironment: environment.programEnvironment,
  }).map((tool) => exclusive.guard(tool))
  const ownNames = [...tools.map(({ definition }) => definition.name), ...believedNames, ...finderNames]
  const skills = createSkillRegistry({ files, ownNames, newNonce: () => randomUUID(), clock })
  const mcp = createMcpToolset({
    ownNames,
    briefingDirectory: environment.briefingDirectory,
    environment: environment.programEnvironment,
    directory: dataDirectory,
    clock,
    log,
  })
  const withheldFor = async (mesh: RunMesh, signal: AbortSignal): Promise<WithheldTools> => {
    try {
      return await askWithheldTools(mesh, signal)
    } catch (error) {
      signal.throwIfAborted()
      log.warn(
        { err: error },
        'failed to read which tools are unavailable; the run is offered all of them and the mesh rejects the calls',
      )
      return nothingWithheld
    }
  }
  const toolsFor = async (
    mesh: RunMesh,
    withheld: WithheldTools,
    signal: AbortSignal,
  ): Promise<readonly Tool[]> => {
    const own = withholdTools(tools, withheld)
    if (kind !== 'operator') return own
    const { allowedOperatorTools } = await import('./builtin-tools/operator.ts')
    try {
      const allowed = await allowedOperatorTools({ mesh, signal }, { files, clock })
      const names = new Set(allowed.map(({ definition }) => definition.name))
      // A tool in both lists is taken from the operator's table, which has the operator's description of it.
      return [...own.filter(({ definition }) => !names.has(definition.name)), ...allowed]
    } catch (error) {
      signal.throwIfAborted()
      log.warn(
        { err: error },
        'failed to read which operator tools are allowed; the run continues without them',
      )
      return own
    }
  }
  return {
    withheldFor,
    offeredTo: async ({ mesh, withheld, subagents, signal }) => {
      const own = withSubagents(await toolsFor(mesh, withheld, signal), subagents)
      const finder = createToolFinder()
      const before = [...deferTools(kind, own), ...finder.tools]
      const withSkills = await skills.offer(before, { mesh, signal, shown: mcp.arrange })
      const offered = await mcp.offer(withSkills, { mesh, signal })
      finder.search(offered)
      return offered
    },
    listed: (subagents) => [
      ...withSubagents(tools, subagents),
      ...skills.listed(),
      ...createToolFinder().tools,
    ],
    exclusive,
    mcp,
  }
}

function withSubagents(tools: readonly Tool[], pool: SubagentPool): readonly Tool[] {
  return [...remindOfUnread(tools, pool), ...subagentTools(pool)]
}

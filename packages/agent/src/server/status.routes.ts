import type { McpServerStatus } from '@flotilla/protocol/mcp-api'
import { Problem } from '@flotilla/protocol/problem'
import { groupOf, groupsFor } from '@flotilla/protocol/tool-groups'
import type { Clock } from '@flotilla/protocol/clock'
import type { AgentEnvironment } from '../environment.ts'
import type { Checkpoints } from '../loop/run-files.ts'
import type { RunSlot } from '../loop/run-slot.ts'
import type { Tool } from '../tools/tool.ts'
import type { Routes } from './http-server.ts'

/** The agent's identity, abilities and state. */
export function statusRoutes(deps: {
  environment: AgentEnvironment
  slot: RunSlot
  checkpoints: Checkpoints
  /** Loads the tools; the first run needs them too. */
  abilities: () => Promise<{
    readonly tools: () => readonly Pick<Tool, 'definition' | 'source'>[]
    readonly mcp: { tools(): readonly Tool[]; statuses(): readonly McpServerStatus[] }
  }>
  /** Returns null if a chat posted now would be accepted, else the reason why not. */
  whyNotReady: () => string | null
  clock: Clock
}): Pick<Routes, 'healthz' | 'status' | 'capabilities'> {
  const { agentId, role, kind } = deps.environment
  const startedAt = deps.clock.now()
  return {
    healthz: async () => {
      const reason = deps.whyNotReady()
      if (reason !== null) throw new Problem('agent-unavailable', { detail: reason })
      return { status: 'ok' }
    },
    status: async () => {
      const run = deps.slot.current()
      const counts = deps.slot.counts()
      return {
        agent_id: agentId,
        role,
        state: run ? 'working' : 'idle',
        current: run && {
          run_id: run.request.runId,
          fence: run.request.fence,
          kind: run.request.kind,
          step: run.step(),
          last_step_at: run.lastStepAt(),
        },
        capabilities: ['chat', 'task', 'tool'],
        uptime_seconds: (deps.clock.now() - startedAt) / 1000,
        tasks_completed: counts.completed,
        tasks_failed: counts.failed,
        has_checkpoint: await deps.checkpoints.any(),
      }
    },
    capabilities: async () => {
      const { tools, mcp } = await deps.abilities()
      return {
        agent_id: agentId,
        role,
        tools: [...tools(), ...mcp.tools()].map(({ definition, source = 'builtin' }) => ({
          ...definition,
          source,
          group: source === 'builtin' ? groupOf(definition.name) : null,
        })),
        groups: groupsFor(kind).map(({ name, tools: members }) => ({ name, tools: members })),
        mcp_servers: mcp.statuses(),
      }
    },
  }
}

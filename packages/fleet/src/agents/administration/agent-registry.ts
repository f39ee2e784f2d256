import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { Caller } from '@flotilla/identity/access'
import type { Kernel } from '@flotilla/identity/kernel'
import { agentView } from '../fleet-view.ts'
import type { AgentActivity } from '../fleet-view.ts'
import type { AgentContext } from '../lifecycle/agent-context.ts'
import { refuseQuarantined } from '../lifecycle/ensure-running.ts'
import type { AgentBudget, AgentRecord } from '../registry/agent-record.ts'
import { isArchived, refuseArchived } from '../registry/agent-table.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { listAgents } from '../registry/list-agents.ts'
import type { AgentSummary } from '../registry/list-agents.ts'
import type { McpServerTable } from '../registry/mcp-server-table.ts'
import type { SeedFiles } from '../connection/seed-files.ts'

/** Reads the agents and their records. */
export interface AgentRegistry {
  readonly find: (agentId: string) => AgentRecord | null
  /** Problem `unknown-agent`, with the nearest id. */
  readonly require: (agentId: string) => AgentRecord
  list(): readonly AgentRecord[]
  readonly isArchived: (agentId: string) => boolean
  /** Returns why the agent does not work now but will be restarted automatically; null otherwise. */
  failureOf(agentId: string): string | null
  /**
   * Throws if an agent may get no work. Problems `unknown-agent`, `agent-archived`; with `waits`, because the asker
   * waits for the result, also `agent-quarantined`. Without `waits`, work is queued until the agent is healthy.
   */
  requireWorking(agentId: string, asker?: 'waits'): void
  /** Sets an agent's budget without checks and audit log, which the callers add. Problem `unknown-agent`. */
  readonly setBudget: (agentId: string, budget: AgentBudget) => void
  readonly setProject: (agentId: string, project: string | null) => void
  readonly mcpServers: McpServerTable
  readonly seedFiles: Pick<SeedFiles, 'of' | 'given'>
  /** Returns the API view of one agent. Problem `unknown-agent`. */
  viewOf(agentId: string, activityOf: (agentId: string) => AgentActivity): AgentView
  view(activityOf: (agentId: string) => AgentActivity): readonly AgentView[]
  /** Returns the agents that the caller may message. */
  listAgents(caller: Caller): readonly AgentSummary[]
}

export function createAgentRegistry(
  context: AgentContext,
  access: Pick<Kernel, 'guard' | 'decide'>,
): AgentRegistry {
  const { agents, clock, mcpServers, seedFiles } = context
  return {
    find: (agentId) => agents.find(agentId)?.record ?? null,
    require: (agentId) => agents.require(agentId).record,
    list: () => agents.list().map((row) => row.record),
    isArchived: (agentId) => {
      const row = agents.find(agentId)
      return row !== null && isArchived(row)
    },
    failureOf: (agentId) => {
      const state = agents.find(agentId)?.state
      return state?.kind === 'restarting' || state?.kind === 'quarantined' ? state.reason : null
    },
    requireWorking: (agentId, asker) => {
      const row = agents.require(agentId)
      refuseArchived(row)
      if (asker === 'waits') refuseQuarantined(row, clock.now())
    },
    setBudget: agents.setBudget,
    setProject: agents.setProject,
    mcpServers,
    seedFiles,
    viewOf: (agentId, activityOf) => viewOf(context, agents.require(agentId), activityOf(agentId)),
    view: (activityOf) => agents.list().map((row) => viewOf(context, row, activityOf(row.record.id))),
    listAgents: listAgents({ ...context, ...access }),
  }
}

function viewOf(
  { placing, runtime, sandboxes, settings }: AgentContext,
  row: AgentRow,
  activity: AgentActivity,
): AgentView {
  const { id } = row.record
  const wish = placing.wishOf(id)
  return agentView(row, activity, {
    defaultModel: settings.defaultModel(),
    wish,
    lacking: placing.lacking(wish),
    waitsFor: sandboxes.startWaits.get(id)?.() ?? null,
    placed: runtime.isolates ? (sandboxes.placed.get(id) ?? null) : null,
  })
}

import type { AgentConfig } from '@flotilla/protocol/agent-edit'
import { actionsOnAgents } from '@flotilla/protocol/permission-actions'
import type { Caller, Guard, PermissionStore, Question } from '@flotilla/identity/access'
import { explain, permissionOrigins } from '@flotilla/identity/access'
import type { AgentRegistry } from '@flotilla/fleet/agents'
import { permissionRows } from '@flotilla/foundation/journal'
import type { Database } from '@flotilla/foundation/storage'

const permissionFileName = 'config/permissions.json'

/** An agent's settings and permissions, for callers that may view the fleet. */
export function createLookUpAgents(deps: {
  readonly guard: Guard
  readonly database: Database
  readonly agents: Pick<AgentRegistry, 'require' | 'list' | 'mcpServers'>
  readonly permissions: Pick<PermissionStore, 'snapshot'>
}) {
  const { guard, agents, permissions } = deps
  return {
    /** The agent's settings and permissions. Problem `unknown-agent`. */
    config: (caller: Caller, agentId: string): AgentConfig => {
      guard(caller, caller.kind === 'human' ? { do: 'edit-agent-config', agentId } : { do: 'view-fleet' })
      const record = agents.require(agentId)
      const { id, kind, role, model, project, budget, createdAt } = record
      return {
        id,
        kind,
        role,
        model,
        project,
        budget: { daily_usd: budget.dailyUsd, monthly_usd: budget.monthlyUsd },
        // The settings include the configuration of MCP servers: among people, only owners may see it.
        ...(caller.kind !== 'human' || caller.role === 'owner'
          ? {
              permissions: permissions.snapshot().recordOf(agentId) ?? null,
              mcpServers: agents.mcpServers.of(agentId),
            }
          : {}),
        created_at: createdAt,
      }
    },
    /** Returns each field of the agent's permission record and its origin. Problem `unknown-agent`. */
    permissionOrigins: (caller: Caller, agentId: string) => {
      guard(caller, { do: caller.kind === 'human' ? 'manage-fleet' : 'view-fleet' })
      const agent = agents.require(agentId)
      const snapshot = permissions.snapshot()
      const record = snapshot.recordOf(agentId)
      const rows = permissionRows(deps.database, agentId)
      const lineOf = (field: string) => snapshot.lineOf(agentId, field)
      return {
        file: permissionFileName,
        broken: snapshot.broken,
        has_record: record !== undefined,
        fields: record ? permissionOrigins(record, { kind: agent.kind, rows, lineOf }) : [],
      }
    },
    /** Explains why an agent may do something or not. Problem `unknown-agent`, with similar names. */
    explain: (caller: Caller, { agentId, action, resource, as }: Question) => {
      guard(caller, { do: 'view-fleet' })
      const snapshot = permissions.snapshot()
      const requireAgent = (id: string): void => {
        if (!snapshot.recordOf(id)) agents.require(id)
      }
      requireAgent(agentId)
      if (resource !== null && actionsOnAgents.includes(action)) requireAgent(resource)
      const explanation = explain(snapshot, { agentId, action, resource, as })
      return { agent_id: agentId, action, resource, as, ...explanation }
    },
  }
}

export type LookUpAgents = ReturnType<typeof createLookUpAgents>

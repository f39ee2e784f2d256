import { actionsOnAgents } from '@flotilla/protocol/permission-actions'
import { operatorTools } from '@flotilla/protocol/operator-tools'
import type { AgentConfig } from '@flotilla/protocol/agent-edit'
import { findWorkspaceFile } from '@flotilla/protocol/workspace-file'
import { Problem } from '@flotilla/protocol/problem'
import type { ControlUseCases } from '../control/control.routes.ts'
import type { OperatorArchiveUseCases } from '../control/archive.routes.ts'
import type { OperatorUseCases } from '../control/operator.routes.ts'
import type { OperatorViewUseCases } from '../diagnostics/operator.routes.ts'
import type { MeshParts } from './compose-parts.ts'
import { agentFigures, fleetFigures } from './compose-figures.ts'
import { activityOf } from './compose-use-cases.ts'
import { noSuchAgent } from '../agents/registry/no-such-agent.ts'
import { defaultBudget } from '../agents/registry/create-agent.ts'
import type { AgentRecord } from '../agents/registry/agent-record.ts'
import { readJournal } from '../journal/read-journal.ts'
import { readHead } from '../journal/journal-table.ts'
import type { Action } from '../access/action.ts'
import { isAtTerminal } from '../access/at-terminal.ts'
import { authorize } from '../access/authorize.ts'
import { raisedPeriod } from '../access/budget-ceiling.ts'
import type { Caller } from '../access/caller.ts'
import { workerDefaultRecord } from '../access/default-records.ts'
import { explain } from '../access/explain.ts'
import { readFields } from '../access/permission-change.ts'
import { answering } from '../storage/resumable.ts'

/** A container may have to be started for a text of its agent. */
const fileReadMaxMs = 120_000

export function controlUseCases(parts: MeshParts): ControlUseCases {
  const { control, fleet, guard, permissions } = parts
  const { approvals, edits } = control
  return {
    agentConfig: (caller, agentId) => configOf(parts, caller, agentId),
    editAgent: (caller, agentId, asked) => edits.apply(caller, agentId, asked),
    deleteAgent: async (caller, agentId) => {
      await fleet.delete(caller, agentId)
      return { deleted: agentId }
    },
    archiveAgent: async (caller, agentId) => {
      await fleet.archive.archive(caller, agentId)
      return fleet.viewOf(agentId, activityOf(parts))
    },
    unarchiveAgent: (caller, agentId) => {
      fleet.archive.unarchive(caller, agentId)
      return fleet.viewOf(agentId, activityOf(parts))
    },
    explain: (caller, agentId, { action, resource = null, as }) => {
      guard(caller, { do: 'view-fleet' })
      const snapshot = permissions.snapshot()
      const requireAgent = (id: string) => {
        if (fleet.find(id) || snapshot.recordOf(id)) return
        const known = fleet.list().map((agent) => agent.id)
        throw noSuchAgent(id, known)
      }
      requireAgent(agentId)
      if (resource !== null && actionsOnAgents.includes(action)) requireAgent(resource)
      const told = explain(snapshot, { agentId, action, resource, as })
      return { agent_id: agentId, action, resource, as, ...told }
    },
    changes: (caller, { agent, limit }) => ({ changes: [...edits.list(caller, { agentId: agent, limit })] }),
    undo: (caller, token) => edits.undo(caller, token),
    pending: (caller, { state, limit }) => ({
      pending: [...approvals.list(caller, { open: state === 'open', limit })],
    }),
    pendingOne: (caller, id) => approvals.read(caller, id),
    confirm: async (caller, confirmation) => approvals.view(await approvals.confirm(caller, confirmation)),
    cancel: (caller, id) => approvals.view(approvals.cancel(caller, id)),
  }
}

export function operatorUseCases(parts: MeshParts): OperatorUseCases {
  const { control, fleet, guard } = parts
  const { approvals, edits } = control
  const activity = activityOf(parts)
  return {
    tools: (caller) => {
      guard(caller, { do: 'list-agents' })
      const may = (action: Action) => authorize(parts.permissions.snapshot(), caller, action).allowed
      const needed = {
        'view-fleet': may({ do: 'view-fleet' }),
        'manage-fleet': may({ do: 'manage-fleet' }),
        'edit-agent-config': may({ do: 'edit-agent-config', agentId: '' }),
      }
      return { tools: operatorTools.filter((tool) => needed[tool.needs]).map((tool) => tool.name) }
    },
    agents: (caller) => {
      guard(caller, { do: 'view-fleet' })
      return { agents: fleet.list().map(({ id }) => agentFigures(parts, id)) }
    },
    agentConfig: (caller, agentId) => configOf(parts, caller, agentId),
    agentFile: async (caller, agentId, file) => {
      guard(caller, { do: 'view-fleet' })
      if (!fleet.find(agentId))
        throw new Problem('unknown-agent', { detail: 'there is no agent with this id' })
      if (!findWorkspaceFile(file))
        throw new Problem('not-found', { detail: 'there is no such workspace file' })
      const signal = AbortSignal.timeout(fileReadMaxMs)
      return { file, content: await (await fleet.reach(agentId, signal)).readWorkspaceFile(file, signal) }
    },
    createAgent: async (caller, { budget, permissions, ...rest }, step) => {
      guard(caller, { do: 'manage-fleet' })
      control.holdCeiling(caller, { agentId: rest.id, current: workerDefaultRecord, fields: permissions })
      const limits = budget && { dailyUsd: budget.daily_usd, monthlyUsd: budget.monthly_usd }
      const raised = isAtTerminal(caller) ? null : raisedPeriod(defaultBudget, limits ?? defaultBudget)
      if (raised) control.refuseAbove(caller, { subject: rest.id, ...raised })
      const view = ({ id }: AgentRecord) => fleet.viewOf(id, activity)
      const wanted = { ...rest, budget: limits, permissions: readFields(permissions) }
      return view(await fleet.create(caller, wanted, answering(step, view)))
    },
    editAgent: (caller, agentId, asked) => edits.apply(caller, agentId, asked),
    restartAgent: async (caller, agentId, step) => {
      await fleet.restart(caller, agentId, step)
      return fleet.viewOf(agentId, activity)
    },
    stopAgent: async (caller, agentId, step) => {
      guard(caller, { do: 'manage-agent', agentId })
      await fleet.stop(agentId, 'the operator stopped it', step)
      return fleet.viewOf(agentId, activity)
    },
    askToDelete: (caller, agentId, { reason }) => {
      guard(caller, { do: 'manage-agent', agentId })
      const record = fleet.find(agentId)
      if (!record) throw new Problem('unknown-agent', { detail: `there is no agent ${agentId}` })
      const args = { agent_id: agentId, created_at: record.createdAt, reason }
      return approvals.view(approvals.ask(caller, { kind: 'delete-agent', args }))
    },
    changes: (caller, limit) => ({ changes: [...edits.list(caller, { limit })] }),
    undo: edits.undo,
    pending: (caller, limit) => ({ pending: [...approvals.list(caller, { open: true, limit })] }),
    cancelPending: (caller, id) => approvals.view(approvals.cancel(caller, id)),
  }
}

export function operatorArchiveUseCases(parts: MeshParts): OperatorArchiveUseCases {
  const { fleet, guard } = parts
  const viewOf = (agentId: string) => fleet.viewOf(agentId, activityOf(parts))
  return {
    archived: (caller) => {
      guard(caller, { do: 'view-fleet' })
      return { agents: fleet.view(activityOf(parts)).filter(({ archived }) => archived) }
    },
    archive: async (caller, agentId) => {
      guard(caller, { do: 'manage-agent', agentId })
      await fleet.archive.archive(caller, agentId)
      return viewOf(agentId)
    },
    unarchive: (caller, agentId) => {
      guard(caller, { do: 'manage-agent', agentId })
      fleet.archive.unarchive(caller, agentId)
      return viewOf(agentId)
    },
  }
}

export function operatorViewUseCases(parts: MeshParts): OperatorViewUseCases {
  const { guard, database, fleet, tasks } = parts
  return {
    metrics: (caller) => {
      guard(caller, { do: 'view-fleet' })
      return fleetFigures(parts, caller)
    },
    agentMetrics: (caller, agentId) => {
      guard(caller, { do: 'view-fleet' })
      if (!fleet.find(agentId))
        throw new Problem('unknown-agent', { detail: 'there is no agent with this id' })
      return agentFigures(parts, agentId)
    },
    staleTasks: (caller, { hours, agent, limit }) => ({
      tasks: [...tasks.listStaleTasks(caller, { hours, agentId: agent, limit })],
    }),
    audit: (caller, { after, limit }) => {
      guard(caller, { do: 'view-fleet' })
      const from = after ?? Math.max(0, (readHead(database)?.seq ?? 0) - limit)
      const rows = readJournal(database, { after: from, limit })
      return {
        rows: rows.map(({ seq, at, actor, action, subject, detail }) => ({
          seq,
          at,
          actor,
          action,
          subject,
          detail,
        })),
      }
    },
  }
}

function configOf({ guard, fleet, permissions }: MeshParts, caller: Caller, agentId: string): AgentConfig {
  guard(caller, { do: 'view-fleet' })
  const record = fleet.find(agentId)
  if (!record) throw new Problem('unknown-agent', { detail: 'there is no agent with this id' })
  const { id, kind, role, model, project, budget, createdAt } = record
  return {
    id,
    kind,
    role,
    model,
    project,
    budget: { daily_usd: budget.dailyUsd, monthly_usd: budget.monthlyUsd },
    permissions: permissions.snapshot().recordOf(agentId) ?? null,
    mcpServers: fleet.mcpServers.of(agentId),
    created_at: createdAt,
  }
}

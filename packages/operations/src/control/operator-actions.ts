import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { operatorTools } from '@flotilla/protocol/operator-tools'
import type { operatorApi } from '@flotilla/protocol/operator-api'
import * as z from 'zod'
import type { Action, Caller, HoldCeiling, RefuseAboveCeiling } from '@flotilla/identity/access'
import { isAtTerminal, raisedPeriod, readFields, workerDefaultRecord } from '@flotilla/identity/access'
import type { AgentAdmin, AgentRecord, AgentRegistry } from '@flotilla/fleet/agents'
import { defaultBudget } from '@flotilla/fleet/agents'
import type { Kernel } from '@flotilla/identity/kernel'
import { answering } from '@flotilla/foundation/storage'
import type { Resumable } from '@flotilla/foundation/storage'
import type { AgentViews } from '@flotilla/inference/spending'
import type { Approvals } from '@flotilla/work/approvals'

type NewWorker = z.output<(typeof operatorApi)['agentCreate']['request']>

/** The operator's actions on agents, under its ceiling; actions reserved for people become approvals. */
export function createOperatorActions(
  kernel: Pick<Kernel, 'guard' | 'decide'>,
  needs: {
    readonly agents: Pick<AgentAdmin, 'create'> & Pick<AgentRegistry, 'require'>
    readonly views: AgentViews
    readonly approvals: Approvals
    readonly holdCeiling: HoldCeiling
    readonly refuseAbove: RefuseAboveCeiling
  },
) {
  const { guard, decide } = kernel
  const { agents, views, approvals } = needs
  return {
    /** Names of the tools that the caller's permissions let it use. */
    tools: (caller: Caller): readonly string[] => {
      guard(caller, { do: 'list-agents' })
      const may = (action: Action) => decide(caller, action).allowed
      const needed = {
        'view-fleet': may({ do: 'view-fleet' }),
        'manage-fleet': may({ do: 'manage-fleet' }),
        'edit-agent-config': may({ do: 'edit-agent-config', agentId: '' }),
        'route-tasks': may({ do: 'route-tasks' }),
      }
      return operatorTools.filter((tool) => needed[tool.needs]).map((tool) => tool.name)
    },
    create: async (
      caller: Caller,
      { budget, permissions, ...rest }: NewWorker,
      step: Resumable<AgentView>,
    ): Promise<AgentView> => {
      guard(caller, { do: 'manage-fleet' })
      needs.holdCeiling(caller, { agentId: rest.id, current: workerDefaultRecord, fields: permissions })
      const limits = budget && { dailyUsd: budget.daily_usd, monthlyUsd: budget.monthly_usd }
      const raised = isAtTerminal(caller) ? null : raisedPeriod(defaultBudget, limits ?? defaultBudget)
      if (raised) needs.refuseAbove(caller, { subject: rest.id, ...raised })
      const view = ({ id }: AgentRecord) => views.of(id)
      const newAgent = { ...rest, budget: limits, permissions: readFields(permissions) }
      return view(await agents.create(caller, newAgent, answering(step, view)))
    },
    /** Requests an approval, because a person must decide: a deleted agent's data cannot be restored. */
    askToDelete: (caller: Caller, agentId: string, reason: string) => {
      guard(caller, { do: 'manage-agent', agentId })
      const { createdAt } = agents.require(agentId)
      const args = { agent_id: agentId, created_at: createdAt, reason }
      const { joined, ...row } = approvals.ask(caller, { kind: 'delete-agent', args })
      return { ...approvals.view(row), ...(joined ? { joined } : {}) }
    },
  }
}

export type OperatorActions = ReturnType<typeof createOperatorActions>

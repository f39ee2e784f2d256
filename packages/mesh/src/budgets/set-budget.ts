import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '../events/event-bus.ts'
import type { Journal } from '../journal/journal.ts'
import type { Guard } from '../policy/action.ts'
import { actorOf } from '../policy/caller.ts'
import type { Caller } from '../policy/caller.ts'
import type { Database } from '../storage/database.ts'
import { edited, requireScope, scopeText } from './budget-scope.ts'
import type { BudgetEdit, BudgetLimits, BudgetScope } from './budget-scope.ts'
import type { BudgetTable } from './budget-table.ts'

/** How this room asks for what stands in the fleet's rows. */
export interface BudgetedAgents {
  find(agentId: string): {
    readonly budget: { readonly dailyUsd: number; readonly monthlyUsd: number }
    readonly project: string | null
  } | null
  setBudget(agentId: string, budget: { readonly dailyUsd: number; readonly monthlyUsd: number }): void
  setProject(agentId: string, project: string | null): void
}

export interface BudgetDeps {
  readonly database: Database
  readonly table: BudgetTable
  readonly agents: BudgetedAgents
  readonly guard: Guard
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
  /** After the commit: money set aside under the old limits is given back. */
  readonly rebalance: () => void
}

/** What stood before, for whoever offers to undo it. */
export interface BudgetChange {
  readonly before: BudgetLimits
  readonly after: BudgetLimits
}

/**
 * Sets one or both periods of a budget; the other stays. Holds from the next call on, also of runs that are busy. An
 * agent that may manage the fleet sets budgets of other agents alone: never its own, a project's or the fleet's.
 * Problems `denied`, `unknown-agent`, `bad-request` with field and range.
 */
export type SetBudget = (caller: Caller, scope: BudgetScope, edit: BudgetEdit) => BudgetChange

export function createSetBudget(deps: BudgetDeps): SetBudget {
  return (caller, scope, edit) => {
    deps.guard(caller, { do: 'manage-fleet' })
    refuseAboveAgents(caller, scope)
    requireScope(scope)
    const change = deps.database.transaction(() => {
      const before = limitsOf(deps, scope)
      const after = edited(before, edit, scope.scope)
      write(deps, scope, after)
      const wire = (limits: BudgetLimits) => ({ daily_usd: limits.dailyUsd, monthly_usd: limits.monthlyUsd })
      deps.journal.append({
        actor: actorOf(caller),
        action: 'budget.changed',
        subject: scopeText(scope),
        detail: { before: wire(before), after: wire(after) },
      })
      deps.events.publish({
        type: 'budget.changed',
        scope: scope.scope,
        scope_id: scope.id,
        ...wire(after),
      })
      return { before, after }
    })
    deps.rebalance()
    return change
  }
}

/** Moves an agent to another project's budget, or to none. Problems `denied`, `unknown-agent`. */
export type SetAgentProject = (caller: Caller, agentId: string, project: string | null) => void

export function createSetAgentProject(deps: BudgetDeps): SetAgentProject {
  return (caller, agentId, project) => {
    deps.guard(caller, { do: 'manage-fleet' })
    if (caller.kind === 'agent') {
      throw new Problem('denied', { detail: 'a person decides which project an agent is charged to' })
    }
    deps.database.transaction(() => {
      const before = requireAgent(deps.agents, agentId).project
      deps.agents.setProject(agentId, project)
      deps.journal.append({
        actor: actorOf(caller),
        action: 'agent.project-changed',
        subject: agentId,
        detail: { before, after: project },
      })
    })
    deps.rebalance()
  }
}

/** As they stand now. Problem `unknown-agent`. */
export function limitsOf(
  { agents, table }: Pick<BudgetDeps, 'agents' | 'table'>,
  scope: BudgetScope,
): BudgetLimits {
  return scope.scope === 'agent' ? requireAgent(agents, scope.id).budget : table.read(scopeText(scope))
}

function write({ agents, table }: BudgetDeps, scope: BudgetScope, limits: BudgetLimits): void {
  const { dailyUsd, monthlyUsd } = limits
  if (scope.scope !== 'agent') table.write(scopeText(scope), limits)
  // `edited` has refused an agent without a limit.
  else if (dailyUsd !== null && monthlyUsd !== null) agents.setBudget(scope.id, { dailyUsd, monthlyUsd })
}

function refuseAboveAgents(caller: Caller, { scope, id }: BudgetScope): void {
  if (caller.kind !== 'agent') return
  if (scope === 'agent' && id !== caller.agentId) return
  throw new Problem('denied', {
    detail:
      'an agent sets budgets of other agents alone; a person sets its own, those of projects and the fleet’s',
  })
}

function requireAgent(agents: BudgetedAgents, agentId: string) {
  const agent = agents.find(agentId)
  if (!agent) throw new Problem('unknown-agent', { detail: `there is no agent ${agentId}` })
  return agent
}

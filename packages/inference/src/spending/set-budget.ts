import { operatorAgentId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Action, Caller, Guard, RefuseAboveCeiling } from '@flotilla/identity/access'
import { actorOf, isAtTerminal, raisedPeriod, requireProof } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import { edited, requireScope, scopeText } from './budget-scope.ts'
import type { BudgetEdit, BudgetLimits, BudgetScope } from './budget-scope.ts'
import type { BudgetTable } from './budget-table.ts'

/** The part of the fleet's rows that this module needs. */
interface BudgetedRecord {
  readonly budget: { readonly dailyUsd: number; readonly monthlyUsd: number }
  readonly project: string | null
}

export interface BudgetedAgents {
  find(agentId: string): BudgetedRecord | null
  /** Problem `unknown-agent`. */
  require(agentId: string): BudgetedRecord
  setBudget(agentId: string, budget: { readonly dailyUsd: number; readonly monthlyUsd: number }): void
  setProject(agentId: string, project: string | null): void
}

export interface BudgetDeps {
  readonly database: Database
  readonly table: BudgetTable
  readonly agents: BudgetedAgents
  readonly guard: Guard
  readonly refuseAbove: RefuseAboveCeiling
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
  /** Returns the agent that created this agent; null if a person created it. */
  readonly makerOf: (agentId: string) => string | null
  /** Called in the transaction that writes the change. */
  readonly membershipChanged: (change: { readonly agentId: string; readonly project: string | null }) => void
  /** Called after the commit: returns unused money that was reserved under the old limits. */
  readonly rebalance: () => void
}

/** The previous value, for a caller that offers to undo the change. */
export interface BudgetChange {
  readonly before: BudgetLimits
  readonly after: BudgetLimits
}

/**
 * Sets one or both periods of a budget; an omitted one stays unchanged. It holds from the next call on, also for busy
 * runs. Only an owner at the terminal may raise a budget, on a page with their proof; all other callers may only
 * lower it. An agent that may manage the fleet may change budgets of other agents, never its own, a project's or the
 * fleet's. Problems `denied`, `human-only`, `proof-wanted`, `unknown-agent`, `bad-request` with field and range.
 */
export type SetBudget = (caller: Caller, scope: BudgetScope, edit: BudgetEdit) => BudgetChange

export function createSetBudget(deps: BudgetDeps): SetBudget {
  return (caller, scope, edit) => {
    deps.guard(caller, actionOn(caller, scope))
    refuseAboveAgents(caller, scope)
    requireScope(scope)
    holdBudget(deps, caller, { scope, edit })
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

/** Returns the action to guard: members may lower budgets of agents granted to them; only owners change others. */
function actionOn(caller: Caller, { scope, id }: BudgetScope): Action {
  if (scope === 'agent' && caller.kind === 'human') return { do: 'edit-agent-config', agentId: id }
  return { do: scope === 'project' ? 'manage-projects' : 'manage-fleet' }
}

/** Refuses a raise that the caller may not make. Nothing can change before the transaction: same event loop turn. */
function holdBudget(
  deps: BudgetDeps,
  caller: Caller,
  { scope, edit }: { readonly scope: BudgetScope; readonly edit: BudgetEdit },
): void {
  const before = limitsOf(deps, scope)
  const raised = raisedPeriod(before, edited(before, edit, scope.scope))
  if (!raised) return
  if (isAtTerminal(caller)) requireProof(caller, 'raise a budget')
  else deps.refuseAbove(caller, { subject: scopeText(scope), ...raised })
}

/**
 * Moves an agent to another project's budget, or to none. Only a person at the terminal may take an agent out of a
 * project with a limit, whatever limit the other project has, because the agent might spend more there. Problems
 * `denied`, `human-only`, `unknown-agent`, `conflict` for an agent that another agent created.
 */
export type SetAgentProject = (caller: Caller, agentId: string, project: string | null) => void

export function createSetAgentProject(deps: BudgetDeps): SetAgentProject {
  return (caller, agentId, project) => {
    deps.guard(caller, { do: 'manage-projects' })
    refuseOwnMembership(caller, agentId)
    for (const touched of new Set([project, deps.agents.require(agentId).project])) {
      // An agent that manages one project cannot take agents out of another.
      if (touched !== null) deps.guard(caller, { do: 'manage-projects', project: touched })
    }
    refuseSpawned(deps, agentId)
    holdProject(deps, caller, { agentId, project })
    deps.database.transaction(() => {
      const before = deps.agents.require(agentId).project
      deps.agents.setProject(agentId, project)
      deps.membershipChanged({ agentId, project })
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

/** Refuses to change the project of the calling agent itself, or of the operator, which works for all projects. */
function refuseOwnMembership(caller: Caller, agentId: string): void {
  if (agentId === operatorAgentId) {
    throw new Problem('reserved-agent-id', {
      detail: 'the operator works for all projects, so it cannot belong to one',
    })
  }
  if (caller.kind === 'agent' && caller.agentId === agentId) {
    throw new Problem('denied', { detail: 'an agent may not choose the project that it belongs to' })
  }
}

/** Refuses to move a spawned agent, because it uses the project of its root. Problem `conflict`. */
function refuseSpawned({ makerOf }: Pick<BudgetDeps, 'makerOf'>, agentId: string): void {
  const maker = makerOf(agentId)
  if (maker === null) return
  throw new Problem('conflict', {
    detail: `the spawned agent ${agentId} always belongs to the project of its parent ${maker}`,
  })
}

function holdProject(
  deps: BudgetDeps,
  caller: Caller,
  { agentId, project }: { readonly agentId: string; readonly project: string | null },
): void {
  const before = deps.agents.require(agentId).project
  if (before === null || before === project) return
  const { dailyUsd, monthlyUsd } = deps.table.read(scopeText({ scope: 'project', id: before }))
  if (dailyUsd === null && monthlyUsd === null) return
  if (isAtTerminal(caller)) {
    requireProof(caller, `remove an agent from project ${before}, whose budget limits it`)
    return
  }
  const reason = `the budget of project ${before} limits this agent, and only a person at the terminal may remove the agent from it`
  deps.refuseAbove(caller, { subject: agentId, field: 'project', reason })
}

/** The current limits. Problem `unknown-agent`. */
export function limitsOf(
  { agents, table }: Pick<BudgetDeps, 'agents' | 'table'>,
  scope: BudgetScope,
): BudgetLimits {
  return scope.scope === 'agent' ? agents.require(scope.id).budget : table.read(scopeText(scope))
}

function write({ agents, table }: BudgetDeps, scope: BudgetScope, limits: BudgetLimits): void {
  const { dailyUsd, monthlyUsd } = limits
  if (scope.scope !== 'agent') table.write(scopeText(scope), limits)
  // `edited` has rejected removing an agent's limit.
  else if (dailyUsd !== null && monthlyUsd !== null) agents.setBudget(scope.id, { dailyUsd, monthlyUsd })
}

function refuseAboveAgents(caller: Caller, { scope, id }: BudgetScope): void {
  if (caller.kind !== 'agent') return
  if (scope === 'agent' && id !== caller.agentId) return
  throw new Problem('denied', {
    detail:
      'an agent may only set budgets of other agents; a person sets the budget of this agent, of projects and of the fleet',
  })
}

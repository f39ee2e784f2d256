import { isTerminal } from '@flotilla/protocol/run'
import { createHoldCeiling } from '../access/index.ts'
import type { Caller, DenialCounts, PermissionStore, RefuseAboveCeiling } from '../access/index.ts'
import type { AgentRegistry, Agents, RequireModel } from '../agents/index.ts'
import type { Kernel, MeshModule } from '../kernel/index.ts'
import { originOf } from '../runs/index.ts'
import type { RunQueries, Runs } from '../runs/index.ts'
import { createAgentViews } from './agent-views.ts'
import type { AgentViews } from './agent-views.ts'
import { approvalKinds } from './approval-kinds.ts'
import type { ApprovalKind } from './approvals/approval-kind.ts'
import { createApprovalTable } from './approvals/approval-table.ts'
import type { ApprovalTable } from './approvals/approval-table.ts'
import { createApprovals } from './approvals/approvals.ts'
import type { Approvals } from './approvals/approvals.ts'
import { createEdits } from './edits/edits.ts'
import type { Edits } from './edits/edits.ts'
import type { Spending } from '../spending/index.ts'
import { createLifeActions } from './life-actions.ts'
import { createLookUpAgents } from './look-up-agents.ts'
import { createOperatorViews } from './operator-views.ts'
import { createOperatorActions } from './operator-actions.ts'
import { archiveRoutes, operatorRoutes } from './operator.routes.ts'
import { controlPeopleRoutes } from './people.routes.ts'

export type { AgentViews } from './agent-views.ts'
export type { ApprovalKind, RequireInTime } from './approvals/approval-kind.ts'
export type { AskApproval, AskedApproval } from './approvals/ask-approval.ts'

export interface Control {
  readonly approvals: Approvals
  readonly edits: Edits
  readonly views: AgentViews
  /** Adds a kind of approval for a module that is created later; called before any request arrives. */
  addApprovalKind(name: string, kind: ApprovalKind): void
  /** Undecided or unfinished approvals of a kind that have this text as an argument. */
  openApprovals: ApprovalTable['openWith']
}

interface Needs {
  readonly agents: Agents
  readonly runs: Pick<Runs, 'queries' | 'queue' | 'delivery'>
  readonly permissions: PermissionStore
  readonly denials: DenialCounts
  readonly refuseAbove: RefuseAboveCeiling
  readonly requireModel: RequireModel
  readonly spending: Pick<Spending, 'budgets' | 'costs'>
}

/** Wires the module for actions of people and the operator on agents, and for approvals. */
export function controlModule(kernel: Kernel, needs: Needs): MeshModule<Control> {
  const { runs, spending } = needs
  const { registry, admin, lifecycle, connection, briefing, files } = needs.agents
  const agents = { ...registry, ...admin, ...lifecycle, ...connection, ...briefing }
  const { hooks } = kernel
  const views = createAgentViews(kernel, { agents, runs: runs.queue, spentTodayUsd: spending.costs.todayUsd })
  const lookUp = createLookUpAgents({ ...kernel, ...needs, agents: registry })
  const holdCeiling = createHoldCeiling({ ...kernel, ...needs })
  const kinds: Record<string, ApprovalKind> = { ...approvalKinds(agents) }
  const approvals = createApprovals({
    ...kernel,
    kinds,
    notifyRun: runs.delivery.notifyRun,
    originOf: (caller) => originOfWork(runs.queries, caller),
    runCosts: (runId) => costsOfWaiting(needs, runId),
  })
  const edits = createEdits({
    ...kernel,
    ...needs,
    fleet: agents,
    holdCeiling,
    setBudget: (caller, id, limits) => void spending.budgets.set(caller, { scope: 'agent', id }, limits),
  })
  const actions = createOperatorActions(kernel, { ...needs, agents, views, approvals, holdCeiling })
  const life = createLifeActions({ ...kernel, agents, views })
  const operatorViews = createOperatorViews(kernel, { ...needs, agents: registry, runs: runs.queries })
  const table = createApprovalTable(kernel.database)
  hooks.runAwaits.subscribe(table.openOf)
  hooks.runSettled.subscribe(approvals.runSettled)
  hooks.agentDeleted.subscribe(approvals.forget)
  hooks.agentDeleted.subscribe(edits.forget)
  return {
    api: {
      approvals,
      edits,
      views,
      addApprovalKind: (name, kind) => {
        kinds[name] = kind
      },
      openApprovals: table.openWith,
    },
    routes: {
      people: (surface) =>
        controlPeopleRoutes(surface, {
          agents,
          views,
          life,
          lookUp,
          edits,
          approvals,
          noticesOf: (agentId, { field }) => noticesOfEdit(kernel, needs.agents.registry, { agentId, field }),
        }),
      operator: (surface) =>
        operatorRoutes(surface, {
          actions,
          life,
          operatorViews,
          files,
          lookUp,
          edits,
          approvals,
        }),
      operatorOrInternal: (surface) => archiveRoutes(surface, life),
    },
    metrics: () => [
      {
        name: 'flotilla_approvals_pending',
        kind: 'gauge',
        description: 'Actions that wait for a person',
        samples: [{ value: approvals.pendingCount() }],
      },
    ],
    begin: approvals.resume,
    run: approvals.run,
  }
}

/** The costs of a run that waits for an approval; null if it no longer waits. */
function costsOfWaiting({ runs, spending }: Pick<Needs, 'runs' | 'spending'>, runId: string) {
  const run = runs.queries.find(runId)
  if (!run || isTerminal(run.state)) return null
  const { agentId, budgetUsd, taskId } = run
  const limits = spending.costs.limitsOf(agentId, { runId, budgetUsd, taskId })
  return { agentId, ...spending.costs.ofRun(runId), limits }
}

/** The origin of the work, from the mesh's own row of the run; never from the agent. */
function originOfWork(runs: Pick<RunQueries, 'find'>, caller: Caller) {
  const run = caller.kind === 'agent' && caller.run ? runs.find(caller.run.runId) : null
  return run?.origin ?? originOf(caller)
}

function noticesOfEdit(
  { hooks }: Pick<Kernel, 'hooks'>,
  registry: Pick<AgentRegistry, 'find'>,
  { agentId, field }: { readonly agentId: string; readonly field: string },
): readonly string[] {
  if (field === 'permissions') return hooks.setNotices.ask({ kind: 'permissions', agentId })
  const budget = field === 'budget' || field === 'model' ? registry.find(agentId)?.budget : undefined
  if (budget === undefined) return []
  return hooks.setNotices.ask({ kind: 'budget', name: agentId, agentId, ...budget })
}

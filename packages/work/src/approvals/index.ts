import { isTerminal } from '@flotilla/protocol/run'
import { createOutsideReads } from '@flotilla/foundation/journal'
import type { Caller } from '@flotilla/identity/access'
import type { MeshModule } from '@flotilla/identity/kernel'
import { originOf } from '../runs/index.ts'
import type { RunQueries, Runs } from '../runs/index.ts'
import type { ApprovalKind } from './approval-kind.ts'
import { createApprovalOfCall, createApprovalOfRun } from './approval-of-run.ts'
import type { ApprovalOfCall, ApprovalOfRun } from './approval-of-run.ts'
import { createApprovalTable } from './approval-table.ts'
import type { ApprovalTable } from './approval-table.ts'
import { createApprovals } from './approvals.ts'
import type { Approvals } from './approvals.ts'
import type { WaitingRunCosts } from './format-run-costs.ts'
import { createPolicyEffects } from './policy-effects.ts'
import type { PolicyEffects } from './policy-effects.ts'
import { approvalPeopleRoutes } from './people.routes.ts'
import type { WorkKernel } from '../events/index.ts'

export type { ApprovalKind, ApprovalKinds, ConfirmedLine, PolicyEffect } from './approval-kind.ts'
export type { AskApproval, RequestedApproval } from './ask-approval.ts'
export type { ApprovalRecord } from './approval-record.ts'
export type { Approvals } from './approvals.ts'
export type { ApprovedEffect, PolicyEffects } from './policy-effects.ts'
export type { WaitingRunCosts } from './format-run-costs.ts'

/** The approvals of every kind; modules add their kinds of actions. */
export interface ApprovalDesk extends Approvals, PolicyEffects {
  /** Adds a kind of approval; called while the modules are created, before any request arrives. */
  addKind(name: string, kind: ApprovalKind): void
  /** Returns approvals of a kind that have this text as an argument and are undecided or being carried out. */
  readonly openWith: ApprovalTable['openWith']
  readonly ofRun: ApprovalOfRun
  readonly ofCall: ApprovalOfCall
  /** Sets the source of the costs that approvals show; called once, while the modules are created. */
  readCostsFrom(costs: RunCosts): void
}

/** What limits the next model call of a run. */
interface WaitingRun {
  readonly runId: string
  readonly budgetUsd: number | null
  readonly taskId: string | null
}

/** The costs of runs, and the limits of their next model calls. */
export interface RunCosts {
  ofRun(runId: string): Pick<WaitingRunCosts, 'calls' | 'spentUsd'>
  limitsOf(agentId: string, run: WaitingRun): WaitingRunCosts['limits']
}

interface Needs {
  readonly runs: Pick<Runs, 'queries' | 'delivery'>
}

export function approvalsModule(kernel: WorkKernel, needs: Needs): MeshModule<ApprovalDesk> {
  const { fleetEvents, workEvents } = kernel
  const kinds: Record<string, ApprovalKind> = {}
  let costs: RunCosts | null = null
  const reads = createOutsideReads(kernel.database)
  const approvals = createApprovals({
    ...kernel,
    kinds,
    notifyRun: needs.runs.delivery.notifyRun,
    originOf: (caller) => originOfWork(needs.runs.queries, caller),
    runCosts: (runId) =>
      costs === null ? null : costsOfWaiting({ runs: needs.runs.queries, costs, reads }, runId),
  })
  const table = createApprovalTable(kernel.database)
  workEvents.runAwaits.subscribe(table.openOf)
  workEvents.runSettled.subscribe(approvals.runSettled)
  fleetEvents.agentDeleted.subscribe(approvals.forget)
  return {
    api: {
      ...approvals,
      ...createPolicyEffects({ table, kinds }),
      addKind: (name, kind) => {
        kinds[name] = kind
      },
      openWith: table.openWith,
      ofRun: createApprovalOfRun(kernel.database),
      ofCall: createApprovalOfCall(kernel.database),
      readCostsFrom: (given) => {
        costs = given
      },
    },
    routes: { people: (surface) => approvalPeopleRoutes(surface, approvals) },
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

/** Returns the origin of the caller's work, from the mesh's own row of the run and never from the agent. */
function originOfWork(runs: Pick<RunQueries, 'find'>, caller: Caller) {
  const run = caller.kind === 'agent' && caller.run ? runs.find(caller.run.runId) : null
  return run?.origin ?? originOf(caller)
}

/** Returns the costs and reads of a run that waits for an approval; null if the run no longer waits. */
function costsOfWaiting(
  from: {
    readonly runs: Pick<RunQueries, 'find'>
    readonly costs: RunCosts
    readonly reads: ReturnType<typeof createOutsideReads>
  },
  runId: string,
): WaitingRunCosts | null {
  const run = from.runs.find(runId)
  if (!run || isTerminal(run.state)) return null
  const { agentId, budgetUsd, taskId } = run
  return {
    agentId,
    ...from.costs.ofRun(runId),
    limits: from.costs.limitsOf(agentId, { runId, budgetUsd, taskId }),
    reads: from.reads(agentId, run.createdAt),
  }
}

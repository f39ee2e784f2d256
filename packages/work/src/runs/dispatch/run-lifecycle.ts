import type { Clock } from '@flotilla/protocol/clock'
import type { Guard } from '@flotilla/identity/access'
import type { Journal } from '@flotilla/foundation/journal'
import type { DomainEvent } from '@flotilla/foundation/events'
import type { Database } from '@flotilla/foundation/storage'
import { createCancelRun } from './cancel-run.ts'
import type { CancelRun } from './cancel-run.ts'
import type { RunChanges } from '../ledger/change-run.ts'
import type { FollowedRuns } from './followed-runs.ts'
import { createLease } from './lease.ts'
import type { Lease } from './lease.ts'
import type { LiveRuns } from '../ledger/live-runs.ts'
import type { RunPulses } from './run-pulses.ts'
import type { RunCost } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'

/** Renews the leases of runs, counts their cost, and cancels runs. */
export interface RunLifecycle {
  readonly cancelRun: CancelRun
  readonly live: LiveRuns
  readonly lease: Lease
  /** Adds to a run's cost as counted by the mesh; joins the caller's transaction. */
  addRunCost(runId: string, cost: RunCost): void
  /**
   * Adds tokens that the run's harness reported; joins the caller's transaction. Returns by how many all its reports
   * exceed the tokens counted for the run; not positive if they do not.
   */
  addReport(runId: string, tokens: number): number
  /** Handles the end of the agent's sandbox: its running run is checked now, before its lease expires (R2). */
  agentGone(agentId: string): void
}

export function createRunLifecycle(deps: {
  readonly database: Database
  readonly table: RunTable
  readonly guard: Guard
  readonly journal: Journal
  readonly changes: Pick<RunChanges, 'settle'>
  readonly live: LiveRuns
  readonly followed: FollowedRuns
  readonly pulses: RunPulses
  readonly notifier: Pick<DomainEvent<string>, 'publish'>
  readonly clock: Clock
}): RunLifecycle {
  const { table, followed, notifier } = deps
  return {
    cancelRun: createCancelRun({ ...deps, settle: deps.changes.settle }),
    live: deps.live,
    lease: createLease(deps),
    addRunCost: table.addCost,
    addReport: table.addReport,
    agentGone: (agentId) => {
      const run = table.runningOf(agentId)
      if (!run) return
      followed.stopFollowing(run.id)
      notifier.publish(agentId)
    },
  }
}

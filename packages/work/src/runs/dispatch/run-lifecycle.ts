import type { Clock } from '@flotilla/protocol/clock'
import type { Guard } from '@flotilla/identity/access'
import type { Journal } from '@flotilla/foundation/journal'
import type { Hook } from '@flotilla/identity/kernel'
import type { Database } from '@flotilla/foundation/storage'
import { createCancelRun } from './cancel-run.ts'
import type { CancelRun } from './cancel-run.ts'
import type { RunChanges } from '../ledger/change-run.ts'
import type { FollowedRuns } from './followed-runs.ts'
import { createLease } from './lease.ts'
import type { Lease } from './lease.ts'
import type { LiveRuns } from '../ledger/live-runs.ts'
import type { RunPulses } from './run-pulses.ts'
import type { RunTable } from '../ledger/run-table.ts'

/** Renews the leases of runs, counts their cost and ends them from outside. */
export interface RunLifecycle {
  readonly cancelRun: CancelRun
  readonly live: LiveRuns
  readonly lease: Lease
  /** Adds to the mesh's own count of a run's cost; joins the caller's transaction. */
  addRunCost(runId: string, usd: number, tokens: number): void
  /**
   * The agent's sandbox has gone: its running run, if any, is checked now instead of when its lease expires (R2).
   */
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
  readonly notifier: Pick<Hook<string>, 'publish'>
  readonly clock: Clock
}): RunLifecycle {
  const { table, followed, notifier } = deps
  return {
    cancelRun: createCancelRun({ ...deps, settle: deps.changes.settle }),
    live: deps.live,
    lease: createLease(deps),
    addRunCost: table.addCost,
    agentGone: (agentId) => {
      const run = table.runningOf(agentId)
      if (!run) return
      followed.stopFollowing(run.id)
      notifier.publish(agentId)
    },
  }
}

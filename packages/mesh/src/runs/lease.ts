import type { Clock } from '@flotilla/protocol/clock'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { FollowedRuns } from './followed-runs.ts'
import type { LaneBell } from './lane-bell.ts'
import type { RunTable } from './run-table.ts'
import type { RunTicket } from './run-ticket.ts'

/** A lease with more left than this is not written again, so that a busy agent costs few writes. */
const renewBelowMs = wireLimits.leaseMs - 5000

export interface Lease {
  /** The time until which the lease holds. Called by the agent's heart and by open calls of the run. Problem `stale-fence`. */
  renew(ticket: Pick<RunTicket, 'runId' | 'fence'>): number
  /** Lets go of every run whose lease is dead; its lane asks the engine before anything else (R2). */
  sweep(): void
}

export function createLease(deps: {
  readonly table: RunTable
  readonly followed: FollowedRuns
  readonly bell: LaneBell
  readonly clock: Clock
}): Lease {
  const { table, followed, bell, clock } = deps
  return {
    renew: ({ runId, fence }) => {
      const run = table.find(runId)
      if (run?.state !== 'running' || run.fence !== fence) throw new Problem('stale-fence')
      const now = clock.now()
      if (run.leaseUntil !== null && run.leaseUntil - now > renewBelowMs) return run.leaseUntil
      table.renewLease(runId, fence, now + wireLimits.leaseMs)
      return now + wireLimits.leaseMs
    },
    sweep: () => {
      for (const run of table.leaseDead(clock.now())) {
        followed.letGo(run.id)
        bell.ring(run.agentId)
      }
    },
  }
}

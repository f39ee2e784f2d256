import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { DomainEvent } from '@flotilla/foundation/events'
import type { FollowedRuns } from './followed-runs.ts'
import type { RunPulses } from './run-pulses.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { RunTicket } from '@flotilla/identity/access'
import { runLimits } from '../run-limits.ts'

/** A lease with more time left than this is not written again, which saves writes. Milliseconds. */
const renewBelowMs = runLimits.leaseMs - 5000

export interface Lease {
  /**
   * Renews the lease and returns when it ends. Called while calls of the run or of its programs are open. Problem
   * `stale-fence`.
   */
  renew(ticket: Pick<RunTicket, 'runId' | 'fence'>): number
  /** Renews the lease for a heartbeat of the agent's own loop, which shows that the loop still runs. */
  heartbeat(ticket: Pick<RunTicket, 'runId' | 'fence'>): number
  /**
   * Stops following every run whose lease has expired or whose loop is silent; the run's lane then asks the engine
   * first (R2).
   */
  sweep(): void
}

export function createLease(deps: {
  readonly table: RunTable
  readonly followed: FollowedRuns
  readonly pulses: RunPulses
  readonly notifier: Pick<DomainEvent<string>, 'publish'>
  readonly clock: Clock
}): Lease {
  const { table, followed, pulses, notifier, clock } = deps

  function renew({ runId, fence }: Pick<RunTicket, 'runId' | 'fence'>): number {
    const run = table.find(runId)
    if (run?.state !== 'running' || run.fence !== fence) throw new Problem('stale-fence')
    const now = clock.now()
    if (run.leaseUntil !== null && run.leaseUntil - now > renewBelowMs) return run.leaseUntil
    table.renewLease(runId, fence, now + runLimits.leaseMs)
    return now + runLimits.leaseMs
  }

  return {
    renew,
    heartbeat: (ticket) => {
      const until = renew(ticket)
      pulses.heartbeat({ id: ticket.runId, fence: ticket.fence })
      return until
    },
    sweep: () => {
      for (const { id, fence } of pulses.check(table.runningFenceOf)) table.renewLease(id, fence, clock.now())
      for (const run of table.leaseDead(clock.now())) {
        followed.stopFollowing(run.id)
        notifier.publish(run.agentId)
      }
    },
  }
}

import type { Clock } from '@flotilla/protocol/clock'
import type { Database } from '@flotilla/foundation/storage'
import type { DomainEvent } from '@flotilla/foundation/events'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { LanePlace, SubmitRun } from '../submit-run.ts'

/** Submits runs and shows the lane of each agent. */
export interface RunQueue {
  readonly submitRun: SubmitRun
  laneOf(agentId: string): { readonly busy: boolean; readonly queued: number; readonly waiting: number }
  /** Returns whether the lane has no place, by the rule that `submitRun` uses. */
  isLaneFull(place: LanePlace): boolean
  /** Returns queued and running runs of the agent that a pause holds, oldest first. */
  proactiveOf(agentId: string): readonly RunRecord[]
  /** Returns queued and running heartbeats of the agent, oldest first, but none that waits for handed-off work. */
  heartbeatsUnderWay(agentId: string): readonly RunRecord[]
  /** True if a chat or task came or ended since the last started heartbeat was submitted, or if none ever started. */
  actedSinceHeartbeat(agentId: string): boolean
  /** Restarts the waiting time of runs that a pause held, and wakes their lane. Joins the caller's transaction. */
  releaseProactive(agentId: string): void
}

export function createRunQueue(deps: {
  readonly database: Database
  readonly table: RunTable
  readonly notifier: Pick<DomainEvent<string>, 'publish'>
  readonly clock: Clock
  readonly submitRun: SubmitRun
  readonly isLaneFull: RunQueue['isLaneFull']
}): RunQueue {
  const { database, table, notifier, clock, submitRun, isLaneFull } = deps
  return {
    submitRun,
    isLaneFull,
    laneOf: table.laneOf,
    proactiveOf: table.proactiveOf,
    heartbeatsUnderWay: table.heartbeatsUnderWay,
    actedSinceHeartbeat: table.actedSinceHeartbeat,
    releaseProactive: (agentId) => {
      table.requeueProactive(agentId, clock.now())
      database.afterCommit(() => notifier.publish(agentId))
    },
  }
}

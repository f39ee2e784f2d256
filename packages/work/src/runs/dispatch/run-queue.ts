import type { Clock } from '@flotilla/protocol/clock'
import type { Database } from '@flotilla/foundation/storage'
import type { Hook } from '@flotilla/identity/kernel'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { LanePlace, SubmitRun } from '../submit-run.ts'

/** Submits runs and shows the lane of each agent. */
export interface RunQueue {
  readonly submitRun: SubmitRun
  laneOf(agentId: string): { readonly busy: boolean; readonly queued: number; readonly waiting: number }
  /** Uses the same rule that accepts runs into a lane. */
  isLaneFull(place: LanePlace): boolean
  /** Queued and running runs of the agent that a pause holds, oldest first. */
  proactiveOf(agentId: string): readonly RunRecord[]
  /** Queued and running heartbeats of the agent, oldest first; none that waits for work that it handed off. */
  heartbeatsUnderWay(agentId: string): readonly RunRecord[]
  /** True if a chat or task of the agent was submitted or ended since its last heartbeat that started, or if none did. */
  actedSinceHeartbeat(agentId: string): boolean
  /** Releases runs that a pause held; joins the caller's transaction. */
  releaseProactive(agentId: string): void
}

export function createRunQueue(deps: {
  readonly database: Database
  readonly table: RunTable
  readonly notifier: Pick<Hook<string>, 'publish'>
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

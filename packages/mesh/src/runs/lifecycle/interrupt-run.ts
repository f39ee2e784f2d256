import type { Clock } from '@flotilla/protocol/clock'
import type { Database } from '../../storage/index.ts'
import type { LaneBell } from '../queue/lane-bell.ts'
import type { MoveRun } from './move-run.ts'
import { failedOutcome } from './outcome-of.ts'
import type { RunRecord } from './run-record.ts'
import type { SettleRun } from './settle-run.ts'

/** Wait before the next attempt, times the attempts so far, milliseconds. */
const retryDelayMs = 2000

/** A running run has lost its agent (R2): it is queued again for the next attempt, or ends `interrupted` after the last. */
export type InterruptRun = (run: RunRecord, why: string) => void

export function createInterruptRun(deps: {
  readonly database: Database
  readonly move: MoveRun
  readonly settle: SettleRun
  readonly bell: LaneBell
  readonly clock: Clock
}): InterruptRun {
  const { database, move, settle, bell, clock } = deps
  return (run, why) =>
    database.transaction(() => {
      const availableAt = clock.now() + retryDelayMs * run.attempt
      if (move(run, { kind: 'interrupted', availableAt })) {
        database.afterCommit(() => bell.ring(run.agentId))
        return
      }
      settle(run, failedOutcome(run, 'interrupted', `The run was cut off ${run.attempt} times: ${why}.`))
    })
}

import type { Clock } from '@flotilla/protocol/clock'
import type { WorkEvents } from '../../events/index.ts'
import { recordSteer } from './record-steer.ts'
import type { SteerRecorders } from './record-steer.ts'
import type { SettleRun } from '../ledger/change-run.ts'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { SteerRecord, SteerTable } from './steer-table.ts'
import { comesOfTrigger } from '../submit-run.ts'
import type { EnterRun } from '../submit-run.ts'

/**
 * Turns a waiting steer into a run with the same origin and text, queued at the time of the steer. `write` stores the
 * run's id in the steer and returns false when its row forbids that. Joins the caller's transaction.
 */
export type BecomeRun = (
  steer: SteerRecord,
  write: (end: { readonly becameRunId: string; readonly settledAt: number }) => boolean,
) => SteerRecord

export interface BecomeRunDeps extends SteerRecorders {
  readonly table: RunTable
  readonly enter: EnterRun
  readonly clock: Clock
}

export function createBecomeRun(deps: BecomeRunDeps): BecomeRun {
  return (steer, write) => {
    const parent = steer.parentRunId === null ? null : deps.table.find(steer.parentRunId)
    const run = deps.enter({
      agentId: steer.agentId,
      input: { kind: 'chat', message: steer.text, session: steer.session },
      origin: steer.origin,
      actor: 'system',
      mark: steer.mark,
      parent,
      proactive: comesOfTrigger(steer.origin, parent),
      queuedSince: steer.createdAt,
    })
    const end = { becameRunId: run.id, settledAt: deps.clock.now() }
    if (!write(end)) throw new Error(`steer ${steer.id} has an end already`)
    const settled: SteerRecord = { ...steer, ...end, state: 'became-run' }
    recordSteer(deps, settled, { action: 'steer.became-run', actor: 'system' })
    return settled
  }
}

/**
 * When a run ends or waits for handed-off work, each of its unread steers becomes a run (R1). A person who cancels a
 * run wants no other work to start, so people's steers of a cancelled run are returned to them and start nothing. If
 * the agent accepts only the run that it was spawned for, the new run ends before it starts, with the reason, so that
 * the sender is notified. Joins the transaction of the change to the run.
 */
export type ReleaseSteers = (run: RunRecord) => void

export function createReleaseSteers(deps: ReleaseSteersDeps & { readonly become: BecomeRun }): ReleaseSteers {
  const { table, steers, workEvents, become, settle } = deps
  return ({ id, agentId, outcome }) => {
    for (const steer of steers.waitingOf(id)) {
      if (outcome?.status === 'cancelled' && steer.origin.kind === 'human') {
        giveBack(deps, steer)
        continue
      }
      const { becameRunId } = become(steer, (end) => steers.becomeRun(steer.id, end))
      const [refusal] = workEvents.reasonsToGiveNoWork.ask(agentId)
      const became = refusal === undefined || becameRunId === null ? null : table.find(becameRunId)
      if (became === null) continue
      settle(became, {
        status: 'cancelled',
        code: 'cancelled',
        text: `The run ended before the agent read this message: ${refusal}.`,
      })
    }
  }
}

function giveBack(deps: ReleaseSteersDeps, steer: SteerRecord): void {
  const settledAt = deps.clock.now()
  if (!deps.steers.giveBack(steer.id, settledAt)) return
  recordSteer(deps, { ...steer, state: 'returned', settledAt }, { action: 'steer.returned', actor: 'system' })
  deps.workEvents.steerReturned.publish(steer)
}

export interface ReleaseSteersDeps extends SteerRecorders {
  readonly clock: Clock
  readonly table: RunTable
  readonly steers: SteerTable
  readonly workEvents: Pick<WorkEvents, 'reasonsToGiveNoWork' | 'steerReturned'>
  readonly settle: SettleRun
}

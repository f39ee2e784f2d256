import type { TaskResult } from '@flotilla/protocol/agent-api'
import type { RunOutcome } from '@flotilla/protocol/run'
import type { Clock } from '@flotilla/protocol/clock'
import type { Database } from '@flotilla/foundation/storage'
import type { InterruptRun, MoveRun, SettleRun } from '../ledger/change-run.ts'
import type { ReleaseSteers } from '../steering/release-steers.ts'
import type { RunInbox } from '../ledger/run-inbox.ts'
import { failedOutcome, outcomeOf } from '../ledger/run-record.ts'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { RunTasks } from '../ledger/run-tasks.ts'

/** Maximum turns of one run; this stops an agent that hands off work forever. */
export const turnsMax = 100

/** Applies the end of a turn. Returns false when the run was settled or moved before. */
export type EndTurn = (run: RunRecord, result: TaskResult) => boolean

/**
 * Ends a turn in one transaction. New notes, open child tasks or the run's own open task keep the run alive;
 * otherwise the run is settled.
 */
export function createEndTurn(deps: {
  readonly database: Database
  readonly table: RunTable
  readonly inbox: RunInbox
  readonly tasks: RunTasks
  readonly move: MoveRun
  readonly settle: SettleRun
  readonly interrupt: InterruptRun
  readonly releaseSteers: ReleaseSteers
  readonly clock: Clock
}): EndTurn {
  const { database, table, inbox, tasks, move, settle, interrupt, releaseSteers, clock } = deps

  /** Reminds a run once that its task is open. Returns true when it did so now. */
  function remind(run: RunRecord): boolean {
    const awaited = run.taskId === null ? null : tasks.awaited(run.taskId)
    if (run.taskId === null || !awaited) return false
    const note = { kind: 'task-reminder', taskId: run.taskId, title: awaited.title } as const
    return inbox.add(run.id, `reminder:${run.taskId}`, { note, at: clock.now() })
  }

  function endWell(run: RunRecord, outcome: RunOutcome): boolean {
    const interimText = outcome.text
    const parks = tasks.openChildren(run.id).length > 0
    if (inbox.unseen(run.id).length === 0 && parks) {
      const parked = move(run, { kind: 'parked', interimText })
      // Steers that arrived too late for this turn become runs now, without waiting for the child tasks.
      if (parked) releaseSteers(parked)
      return parked !== null
    }
    if (inbox.unseen(run.id).length > 0 || remind(run)) {
      if (run.turn + 1 < turnsMax) return move(run, { kind: 'continued', interimText }) !== null
      return (
        settle(run, failedOutcome(run, 'rounds-exhausted', `The run used all its ${turnsMax} turns.`)) !==
        null
      )
    }
    return settle(run, outcome) !== null
  }

  return (stale, result) =>
    database.transaction(() => {
      const run = table.find(stale.id)
      if (run?.state !== 'running' || run.fence !== result.fence || run.id !== result.run_id) return false
      // The run itself is not cancelled, since it is running: the agent was stopped in the middle of it.
      if (result.status === 'cancelled') {
        interrupt(run, 'the agent stopped')
        return true
      }
      const outcome = outcomeOf(result)
      if (outcome.status === 'done' && run.kind !== 'tool') return endWell(run, outcome)
      return settle(run, outcome) !== null
    })
}

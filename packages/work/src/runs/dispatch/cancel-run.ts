import { noSuchRun } from '@flotilla/protocol/not-found'
import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import type { SettleRun } from '../ledger/change-run.ts'
import type { FollowedRuns } from './followed-runs.ts'
import { withInterim } from '../ledger/run-record.ts'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'

/**
 * Cancels a run and all its open descendants, and tells their working agents to stop. A run that is already cancelled
 * is returned unchanged. `why` is the text that the caller receives. Problems: `not-found`, `denied`, `conflict` if
 * the run ended otherwise.
 */
export type CancelRun = (caller: Caller, runId: string, why?: string) => RunRecord

export function createCancelRun(deps: {
  readonly database: Database
  readonly table: RunTable
  readonly guard: Guard
  readonly journal: Journal
  readonly settle: SettleRun
  readonly followed: FollowedRuns
}): CancelRun {
  const { database, table, guard, journal, settle, followed } = deps

  function end(run: RunRecord, why: string): void {
    const settled = settle(run, { status: 'cancelled', code: 'cancelled', text: withInterim(run, why) })
    if (settled) database.afterCommit(() => followed.stopFollowing(run.id))
  }

  return (caller, runId, why = 'The run was cancelled.') => {
    const found = table.find(runId)
    guard(caller, { do: 'submit-run', to: found?.agentId ?? '' })
    if (!found) throw noSuchRun(runId)
    return database.transaction(() => {
      const run = table.find(runId) ?? found
      if (run.state === 'cancelled') return run
      if (isTerminal(run.state)) throw new Problem('conflict', { detail: `the run is already ${run.state}` })
      journal.append({ actor: actorOf(caller), action: 'run.cancel-asked', subject: runId, detail: {} })
      end(run, why)
      for (const id of table.openBelow(runId)) {
        const below = table.find(id)
        if (below && !isTerminal(below.state)) end(below, 'The run that asked for this one was cancelled.')
      }
      return table.find(runId) ?? run
    })
  }
}

import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import type { LiveRuns } from '../ledger/live-runs.ts'
import { recordSteer } from './record-steer.ts'
import type { SteerRecorders } from './record-steer.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { SteerTable } from './steer-table.ts'

/**
 * Records an agent's report that it added steers to the conversation of its live run after `step`; from then on they
 * cannot become runs. Repeating the call changes nothing. Problems: `stale-fence`, and `not-found` for a steer of
 * another run.
 */
export type TakeSteers = (
  caller: Caller,
  taken: { readonly ids: readonly string[]; readonly step: number },
) => number

export function createTakeSteers(
  deps: SteerRecorders & {
    readonly database: Database
    readonly table: RunTable
    readonly steers: SteerTable
    readonly live: LiveRuns
    readonly guard: Guard
    readonly clock: Clock
  },
): TakeSteers {
  const { database, table, steers, live, guard, clock } = deps

  function take(id: string, where: { readonly runId: string; readonly turn: number; readonly step: number }) {
    const steer = steers.find(id)
    if (steer?.runId !== where.runId || steer.state === 'became-run') {
      throw new Problem('not-found', { detail: `${id} does not belong to this run` })
    }
    if (!steers.take(id, { ...where, at: clock.now() })) {
      steers.retake(id, where)
      return
    }
    const taken = steers.find(id)
    if (taken) recordSteer(deps, taken, { action: 'steer.taken', actor: `agent:${steer.agentId}` })
  }

  return (caller, { ids, step }) => {
    if (caller.kind !== 'agent') throw new Problem('not-found')
    guard(caller, { do: 'act-for-self', agentId: caller.agentId })
    return database.transaction(() => {
      if (!caller.run) throw new Problem('stale-fence')
      const { runId } = live.ticketOf(caller.run.runId, caller.run.fence)
      const run = table.find(runId)
      if (!run || run.agentId !== caller.agentId) throw new Problem('stale-fence')
      for (const id of ids) take(id, { runId, turn: run.turn, step })
      return ids.length
    })
  }
}

import type { JsonObject } from '@flotilla/protocol/json-value'
import type { RunOutcome } from '@flotilla/protocol/run'
import type { Database } from '../../storage/index.ts'
import type { LaneBell } from '../queue/lane-bell.ts'
import type { MoveRun } from './move-run.ts'
import type { Outbox } from '../delivery/outbox.ts'
import type { RunRecord } from './run-record.ts'
import type { RunSettledHandler } from './run-tasks.ts'

/** The settled run, or null when the run is not as it was read: someone else has settled or moved it. */
export type SettleRun = (run: RunRecord, outcome: RunOutcome) => RunRecord | null

/**
 * Writes the one terminal outcome (R4): in one transaction the outcome, the journal, the note to whoever asked,
 * and whatever `handlers` write (the task, the parent run, reservations).
 */
export function createSettleRun(deps: {
  readonly database: Database
  readonly move: MoveRun
  readonly outbox: Outbox
  readonly bell: LaneBell
  readonly handlers: readonly RunSettledHandler[]
}): SettleRun {
  const { database, move, outbox, bell, handlers } = deps
  return (run, outcome) =>
    database.transaction(() => {
      const settled = move(run, { kind: 'settled', outcome })
      if (!settled) return null
      outbox.giveUpFor(`run:${run.id}`, 'the run that asked had ended')
      const asker = askerOutside(settled)
      if (asker) {
        outbox.add({ source: `run:${run.id}`, recipient: asker, runId: run.id, body: bodyOf(outcome) })
      }
      for (const handler of handlers) handler(settled)
      database.afterCommit(() => bell.ring(run.agentId))
      return settled
    })
}

/** Who must be told and has no row of ours; runs, tasks and the histories of triggers are told by the handlers. */
export function askerOutside(run: RunRecord): string | null {
  return run.parentId === null && run.origin.kind === 'human' ? `human:${run.origin.channel}` : null
}

function bodyOf({ status, text, code, result }: RunOutcome): JsonObject {
  return {
    status,
    text,
    ...(code === undefined ? {} : { code }),
    ...(result === undefined ? {} : { result }),
  }
}

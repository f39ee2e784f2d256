import type { Clock } from '@flotilla/protocol/clock'
import type { EventBus } from '../../events/index.ts'
import type { Journal } from '../../journal/index.ts'
import type { Database } from '../../storage/index.ts'
import { transition } from './run-record.ts'
import type { RunEvent, RunRecord } from './run-record.ts'
import type { RunTable } from './run-table.ts'

/** The run after the event, written, announced and journalled; null where the row does not allow it any more. */
export type MoveRun = (run: RunRecord, event: RunEvent) => RunRecord | null

/** The one way in which a run changes its state. */
export function createMoveRun(deps: {
  readonly database: Database
  readonly table: RunTable
  readonly events: EventBus
  readonly journal: Journal
  readonly clock: Clock
}): MoveRun {
  const { database, table, events, journal, clock } = deps
  return (run, event) =>
    database.transaction(() => {
      const next = transition(run, event, clock.now())
      if (!next || !table.replace(run, next)) return null
      journal.append({
        actor: 'system',
        action: `run.${event.kind}`,
        subject: run.id,
        detail: {
          agent: run.agentId,
          state: next.state,
          fence: next.fence,
          attempt: next.attempt,
          turn: next.turn,
        },
      })
      announceRun(events, next)
      return next
    })
}

export function announceRun(events: EventBus, run: RunRecord): void {
  events.publish({
    type: 'run.changed',
    agent_id: run.agentId,
    run_id: run.id,
    parent_id: run.parentId,
    state: run.state,
    outcome: run.outcome,
  })
}

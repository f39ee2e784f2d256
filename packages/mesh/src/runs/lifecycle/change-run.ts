import type { Clock } from '@flotilla/protocol/clock'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { RunOutcome } from '@flotilla/protocol/run'
import type { EventBus } from '../../events/index.ts'
import type { Journal } from '../../journal/index.ts'
import { createHook } from '../../kernel/index.ts'
import type { Hook } from '../../kernel/index.ts'
import type { Database } from '../../storage/index.ts'
import type { Outbox } from '../delivery/outbox.ts'
import { failedOutcome, transition } from './run-record.ts'
import type { RunEvent, RunRecord } from './run-record.ts'
import type { RunTable } from './run-table.ts'

/** The ways in which a run changes its state, each in one transaction. */
export interface RunChanges {
  readonly move: MoveRun
  readonly settle: SettleRun
  readonly interrupt: InterruptRun
  /** Told inside the transaction that settles a run; a listener that throws takes the settlement back. */
  readonly settled: Pick<Hook<RunRecord>, 'subscribe'>
}

interface ChangeDeps {
  readonly database: Database
  readonly table: RunTable
  readonly events: EventBus
  readonly journal: Journal
  readonly outbox: Outbox
  readonly notifier: Pick<Hook<string>, 'tell'>
  readonly clock: Clock
}

export function createRunChanges(deps: ChangeDeps): RunChanges {
  const settled = createHook<RunRecord>()
  const move = createMoveRun(deps)
  const settle = createSettleRun(deps, move, settled)
  return { move, settle, settled, interrupt: createInterruptRun(deps, { move, settle }) }
}

/** The run after the event, written, announced and journalled; null where the row does not allow it any more. */
export type MoveRun = (run: RunRecord, event: RunEvent) => RunRecord | null

/** The one way in which a run changes its state. */
function createMoveRun({ database, table, events, journal, clock }: ChangeDeps): MoveRun {
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

/** The settled run, or null when the run is not as it was read: someone else has settled or moved it. */
export type SettleRun = (run: RunRecord, outcome: RunOutcome) => RunRecord | null

/**
 * Writes the one terminal outcome (R4): in one transaction the outcome, the journal, the note to whoever asked,
 * and whatever listeners to `settled` write (the task, the parent run, reservations).
 */
function createSettleRun(
  { database, outbox, notifier }: ChangeDeps,
  move: MoveRun,
  told: Pick<Hook<RunRecord>, 'tell'>,
): SettleRun {
  return (run, outcome) =>
    database.transaction(() => {
      const settled = move(run, { kind: 'settled', outcome })
      if (!settled) return null
      outbox.giveUpFor(`run:${run.id}`, 'the run that asked had ended')
      const asker = askerOutside(settled)
      if (asker) {
        outbox.add({ source: `run:${run.id}`, recipient: asker, runId: run.id, body: bodyOf(outcome) })
      }
      told.tell(settled)
      database.afterCommit(() => notifier.tell(run.agentId))
      return settled
    })
}

/** Who must be told and has no row of ours; runs, tasks and the histories of triggers are told by the handlers. */
function askerOutside(run: RunRecord): string | null {
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

/** Wait before the next attempt, times the attempts so far, milliseconds. */
const retryDelayMs = 2000

/** A running run has lost its agent (R2): it is queued again for the next attempt, or ends `interrupted` after the last. */
export type InterruptRun = (run: RunRecord, why: string) => void

function createInterruptRun(
  { database, notifier, clock }: ChangeDeps,
  { move, settle }: Pick<RunChanges, 'move' | 'settle'>,
): InterruptRun {
  return (run, why) =>
    database.transaction(() => {
      const availableAt = clock.now() + retryDelayMs * run.attempt
      if (move(run, { kind: 'interrupted', availableAt })) {
        database.afterCommit(() => notifier.tell(run.agentId))
        return
      }
      settle(run, failedOutcome(run, 'interrupted', `The run was cut off ${run.attempt} times: ${why}.`))
    })
}

import type { Clock } from '@flotilla/protocol/clock'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { RunOutcome } from '@flotilla/protocol/run'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import { createDomainEvent } from '@flotilla/foundation/events'
import type { DomainEvent } from '@flotilla/foundation/events'
import type { Database } from '@flotilla/foundation/storage'
import type { Outbox } from './outbox.ts'
import { failedOutcome, transition } from './run-record.ts'
import type { RunEvent, RunRecord } from './run-record.ts'
import type { RunTable } from './run-table.ts'

/** Changes the state of runs, each change in one transaction. */
export interface RunChanges {
  readonly move: MoveRun
  readonly settle: SettleRun
  readonly interrupt: InterruptRun
  /** Called inside the transaction that settles a run; a subscriber that throws rolls the settlement back. */
  readonly settled: Pick<DomainEvent<RunRecord>, 'subscribe'>
}

interface ChangeDeps {
  readonly database: Database
  readonly table: RunTable
  readonly events: EventBus
  readonly journal: Journal
  readonly outbox: Outbox
  readonly notifier: Pick<DomainEvent<string>, 'publish'>
  readonly clock: Clock
}

export function createRunChanges(deps: ChangeDeps): RunChanges {
  const settled = createDomainEvent<RunRecord>()
  const move = createMoveRun(deps)
  const settle = createSettleRun(deps, move, settled)
  return { move, settle, settled, interrupt: createInterruptRun(deps, { move, settle }) }
}

/** Applies an event to a run; stores, publishes and audits it. Returns the new run; null when the row forbids it. */
export type MoveRun = (run: RunRecord, event: RunEvent) => RunRecord | null

/** Creates the only function that changes the state of a run. */
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

/** Settles a run and returns it; null when another caller has settled or moved it since it was read. */
export type SettleRun = (run: RunRecord, outcome: RunOutcome) => RunRecord | null

/**
 * Writes the terminal outcome, exactly once (R4). One transaction holds the outcome, the audit entry, the
 * notification and the writes of subscribers to `settled` (task, parent run, reservations).
 */
function createSettleRun(
  { database, outbox, notifier }: ChangeDeps,
  move: MoveRun,
  event: Pick<DomainEvent<RunRecord>, 'publish'>,
): SettleRun {
  return (run, outcome) =>
    database.transaction(() => {
      const settled = move(run, { kind: 'settled', outcome })
      if (!settled) return null
      outbox.giveUpFor(`run:${run.id}`, 'the run that asked had ended')
      const requester = outsideRequester(settled)
      if (requester) {
        outbox.add({ source: `run:${run.id}`, recipient: requester, runId: run.id, body: bodyOf(outcome) })
      }
      event.publish(settled)
      database.afterCommit(() => notifier.publish(run.agentId))
      return settled
    })
}

/** Returns the channel of the person to notify; null for other runs, whose subscribers update their own rows. */
function outsideRequester(run: RunRecord): string | null {
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

/** Wait before the next attempt, milliseconds; multiplied by the number of attempts so far. */
const retryDelayMs = 2000

/**
 * Handles a running run that has lost its agent (R2): queues its next attempt, or ends it as `interrupted` after the
 * last one.
 */
export type InterruptRun = (run: RunRecord, why: string) => void

function createInterruptRun(
  { database, notifier, clock }: ChangeDeps,
  { move, settle }: Pick<RunChanges, 'move' | 'settle'>,
): InterruptRun {
  return (run, why) =>
    database.transaction(() => {
      const availableAt = clock.now() + retryDelayMs * run.attempt
      if (move(run, { kind: 'interrupted', availableAt })) {
        database.afterCommit(() => notifier.publish(run.agentId))
        return
      }
      settle(run, failedOutcome(run, 'interrupted', `The run was interrupted ${run.attempt} times: ${why}.`))
    })
}

import { isTerminal } from '@flotilla/protocol/run'
import type { Clock } from '@flotilla/protocol/clock'
import type { Database } from '@flotilla/foundation/storage'
import type { DomainEvent } from '@flotilla/foundation/events'
import type { MoveRun } from '../ledger/change-run.ts'
import type { Outbox } from '../ledger/outbox.ts'
import type { RunInbox } from '../ledger/run-inbox.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { TakeNote, NotifyRun } from '../ledger/run-tasks.ts'
import { notesForOneMessage } from './continuation-text.ts'
import type { RunRecord } from '../ledger/run-record.ts'

/**
 * Delivers a note to the parent run exactly once (R5). A waiting run is queued again, a queued or running one gets
 * the note in its next turn, and for a run that has ended the note stays visible as undeliverable.
 */
export function createNotifyRun(deps: {
  readonly database: Database
  readonly table: RunTable
  readonly inbox: RunInbox
  readonly outbox: Outbox
  readonly move: MoveRun
  readonly notifier: Pick<DomainEvent<string>, 'publish'>
  readonly clock: Clock
}): NotifyRun {
  const { database, table, inbox, outbox, move, notifier, clock } = deps
  return (runId, source, note) =>
    database.transaction(() => {
      const letter = { source, recipient: `run:${runId}`, runId, body: note }
      if (!outbox.add(letter)) return
      const run = table.find(runId)
      if (!run || isTerminal(run.state)) {
        outbox.markFor(letter, 'undeliverable', 'the run that asked had already ended')
        return
      }
      inbox.add(runId, source, { note, at: clock.now() })
      if (run.state !== 'waiting') return
      move(run, { kind: 'resumed' })
      database.afterCommit(() => notifier.publish(run.agentId))
    })
}

/** Marks a note as delivered that a run waited for and read within its current turn. */
export function createTakeNote({
  inbox,
  outbox,
}: {
  readonly inbox: RunInbox
  readonly outbox: Outbox
}): TakeNote {
  return (runId, source) => {
    if (inbox.take(runId, source)) outbox.markFor({ source, recipient: `run:${runId}` }, 'delivered')
  }
}

/**
 * Binds the notes of a continued run to its turn at dispatch, so that every attempt of the turn gets the same notes.
 */
export type BindNotes = (run: RunRecord) => void

export function createBindNotes({
  inbox,
  outbox,
}: {
  readonly inbox: RunInbox
  readonly outbox: Outbox
}): BindNotes {
  return (run) => {
    if (inbox.ofTurn(run.id, run.turn).length > 0) return
    const rows = notesForOneMessage(inbox.unseen(run.id))
    inbox.bind(
      rows.map((row) => row.id),
      run.turn,
    )
    for (const row of rows) outbox.markFor({ source: row.source, recipient: `run:${run.id}` }, 'delivered')
  }
}

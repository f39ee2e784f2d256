import type { Database } from '../../storage/index.ts'
import type { MoveRun } from '../lifecycle/move-run.ts'
import { notesForOneMessage } from '../lifecycle/continuation-text.ts'
import type { Outbox } from '../delivery/outbox.ts'
import type { RunInbox } from '../delivery/run-inbox.ts'
import type { RunRecord } from '../lifecycle/run-record.ts'
import type { RunTable } from '../lifecycle/run-table.ts'
import type { RunTasks } from '../lifecycle/run-tasks.ts'

/** The run as it is running now, under a fence of its own; null when it is not queued any more. */
export type DispatchRun = (run: RunRecord) => RunRecord | null

/**
 * Takes a queued run into its lane. A continuation gets its notes here, bound to its turn, so that every attempt
 * of that turn says the same.
 */
export function createDispatchRun(deps: {
  readonly database: Database
  readonly table: RunTable
  readonly inbox: RunInbox
  readonly outbox: Outbox
  readonly tasks: RunTasks
  readonly move: MoveRun
}): DispatchRun {
  const { database, table, inbox, outbox, tasks, move } = deps

  function bindNotes(run: RunRecord): void {
    if (run.turn === 0 || inbox.ofTurn(run.id, run.turn).length > 0) return
    const rows = notesForOneMessage(inbox.unseen(run.id))
    inbox.bind(
      rows.map((row) => row.id),
      run.turn,
    )
    for (const row of rows) outbox.markFor({ source: row.source, recipient: `run:${run.id}` }, 'delivered')
  }

  return (run) =>
    database.transaction(() => {
      const queued = table.find(run.id)
      if (queued?.state !== 'queued') return null
      const running = move(queued, { kind: 'dispatched', fence: table.nextFence(queued.agentId) })
      if (!running) return null
      bindNotes(running)
      tasks.began(running)
      return running
    })
}

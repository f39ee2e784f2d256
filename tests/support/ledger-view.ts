import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface LedgerView {
  /** Notes that were added before the run. */
  inbox(runId: string): readonly Record<string, unknown>[]
  /** Notifications for this recipient. */
  outbox(recipient: string): readonly Record<string, unknown>[]
  /** How often each run reached a terminal state, from the audit log of all mesh processes. */
  endings(): ReadonlyMap<string, number>
  rows(sql: string, ...values: string[]): readonly Record<string, unknown>[]
  close(): void
}

/** Opens the database of a home read-only, also while a mesh runs on it. */
export function openLedger(home: string): LedgerView {
  const database = new DatabaseSync(join(home, 'data', 'mesh.db'), { readOnly: true })
  const rows = (sql: string, ...values: string[]) =>
    database.prepare(sql).all(...values) as Record<string, unknown>[]
  return {
    inbox: (runId) => rows('SELECT * FROM run_inbox WHERE run_id = ? ORDER BY id', runId),
    outbox: (recipient) => rows('SELECT * FROM outbox WHERE recipient = ?', recipient),
    endings: () => {
      const counts = new Map<string, number>()
      for (const row of rows("SELECT subject FROM journal WHERE action = 'run.settled'")) {
        const subject = String(row['subject'])
        counts.set(subject, (counts.get(subject) ?? 0) + 1)
      }
      return counts
    },
    rows,
    close: () => database.close(),
  }
}

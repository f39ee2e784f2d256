import type { Database } from '@flotilla/foundation/storage'
import type { ApprovalRecord } from './approval-record.ts'

/** Reads and writes which runs wait for an approval: that of its row, and those that joined it. */
export function createApprovalRunsTable(database: Database) {
  /** Gives the approval to the run that joined it first, if it belongs to this run, and shows the origin of that run. */
  function giveToNext(id: string, runId: string | null): void {
    const { changes } = database
      .prepare(
        `UPDATE approvals SET run_id = (SELECT run_id FROM approval_runs WHERE approval_id = ?1 ORDER BY rowid LIMIT 1)
         WHERE id = ?1 AND run_id IS ?2`,
      )
      .run(id, runId)
    if (changes === 0) return
    database
      .prepare(
        `UPDATE approvals SET origin = coalesce((SELECT origin FROM runs WHERE runs.id = approvals.run_id), origin)
         WHERE id = ?`,
      )
      .run(id)
  }

  const hasEnded = (runId: string): boolean =>
    database.prepare('SELECT 1 FROM runs WHERE id = ? AND ended_at IS NOT NULL').get(runId) !== undefined

  return {
    /** Records that a further run waits for this approval. An approval whose run has ended then belongs to it. */
    join: ({ id, runId: owner }: Pick<ApprovalRecord, 'id' | 'runId'>, runId: string): void => {
      database
        .prepare('INSERT OR IGNORE INTO approval_runs (approval_id, run_id) VALUES (?, ?)')
        .run(id, runId)
      if (owner === null || hasEnded(owner)) giveToNext(id, owner)
    },
    runsOf: ({ id, runId }: Pick<ApprovalRecord, 'id' | 'runId'>): readonly string[] => [
      ...(runId === null ? [] : [runId]),
      ...database
        .prepare('SELECT run_id FROM approval_runs WHERE approval_id = ? ORDER BY rowid')
        .all(id)
        .map((row) => String(row['run_id']))
        .filter((one) => one !== runId),
    ],
    /** Records that the run no longer waits for the approval, which then belongs to the next waiting run, if any. */
    leave: (id: string, runId: string): void => {
      database.prepare('DELETE FROM approval_runs WHERE approval_id = ? AND run_id = ?').run(id, runId)
      giveToNext(id, runId)
    },
  }
}

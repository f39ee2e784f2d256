import type { Database } from '../storage/index.ts'
import { journalRowSchema } from './read-journal.ts'
import type { JournalRow } from './read-journal.ts'

/** The maximum number of rows read for one agent; older ones are ignored. */
const rowsMax = 2000

/** The newest rows about grants to this agent, oldest first. A row with invalid content throws. */
export function permissionRows(database: Database, agentId: string): readonly JournalRow[] {
  return database
    .prepare(
      `SELECT seq, at, actor, action, subject, detail, previous_hash, hash FROM journal
        WHERE action IN ('permission.granted', 'permission.changed', 'permission.revoked') AND subject = ?
        ORDER BY seq DESC LIMIT ?`,
    )
    .all(agentId, rowsMax)
    .map((row) => journalRowSchema.parse(row))
    .toReversed()
}

import type { Database } from '../storage/index.ts'
import { journalRowSchema } from './read-journal.ts'
import type { JournalRow } from './read-journal.ts'

/** Of one agent that are looked at; older ones are left out. */
const rowsMax = 2000

/** The newest rows that tell what this agent was granted, oldest first. A row that was made unreadable throws. */
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

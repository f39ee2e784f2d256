import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import type { Database } from '../storage/index.ts'
import { jsonColumn } from '../storage/index.ts'

export const journalRowSchema = z.object({
  seq: z.number(),
  at: z.number(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  detail: jsonColumn(jsonObjectSchema),
  previous_hash: z.string(),
  hash: z.string(),
})
/** A row in the form in which it is hashed: its detail is not parsed. */
export const linkSchema = journalRowSchema.extend({ detail: z.string() })
export type JournalRow = z.infer<typeof journalRowSchema>

/** Rows after `seq`, oldest first; at most `limit`. Throws at an unreadable row. */
export function readJournal(
  database: Database,
  page: { readonly after: number; readonly limit: number },
): readonly JournalRow[] {
  return rowsAfter(database, page.after, page.limit).map((row) => journalRowSchema.parse(row))
}

/** Raw rows of the table, not parsed. */
export function rowsAfter(database: Database, after: number, limit: number) {
  return database
    .prepare(
      'SELECT seq, at, actor, action, subject, detail, previous_hash, hash FROM journal WHERE seq > ? ORDER BY seq LIMIT ?',
    )
    .all(after, limit)
}

/** Whether the audit log has a row of this action on this subject. Searches the whole log. */
export function isJournaled(
  database: Database,
  { action, subject }: Pick<JournalRow, 'action' | 'subject'>,
): boolean {
  return (
    database
      .prepare('SELECT 1 FROM journal WHERE action = ? AND subject = ? LIMIT 1')
      .get(action, subject) !== undefined
  )
}

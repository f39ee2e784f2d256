import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import * as z from 'zod'
import type { Database } from '../storage/database.ts'
import { jsonColumn } from '../storage/json-column.ts'
import { chainHash, genesisHash } from './chain-hash.ts'
import { readHead } from './journal-table.ts'

/** Rows read at a time, so that a long journal is verified in little memory. */
const pageRows = 500

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
/** A row as it is hashed: its detail is not read. */
const linkSchema = journalRowSchema.extend({ detail: z.string() })
export type JournalRow = z.infer<typeof journalRowSchema>

export interface JournalVerdict {
  readonly ok: boolean
  /** How many rows hold, from the start. */
  readonly rows: number
  /** Number of the first row that does not hold; one past the last when rows are missing at the end. */
  readonly brokenAt?: number
  readonly detail?: string
}

/** Rows after `seq`, oldest first; at most `limit`. A row that was made unreadable throws. */
export function readJournal(
  database: Database,
  page: { readonly after: number; readonly limit: number },
): readonly JournalRow[] {
  return rowsAfter(database, page.after, page.limit).map((row) => journalRowSchema.parse(row))
}

/** Walks the whole chain: notices a changed, removed (at the end too), inserted or swapped row. */
export function verifyJournal(database: Database): JournalVerdict {
  let previous = { seq: 0, hash: genesisHash }
  let rows = 0
  for (;;) {
    const page = rowsAfter(database, previous.seq, pageRows)
    for (const raw of page) {
      const parsed = linkSchema.safeParse(raw)
      if (!parsed.success) {
        return broken(rows, previous.seq + 1, 'the row is not readable')
      }
      const fault = faultOf(parsed.data, previous)
      if (fault) return broken(rows, parsed.data.seq, fault)
      previous = { seq: parsed.data.seq, hash: parsed.data.hash }
      rows++
    }
    if (page.length < pageRows) break
  }
  return verdictOnEnd(database, previous, rows)
}

function faultOf(
  row: z.infer<typeof linkSchema>,
  previous: { readonly seq: number; readonly hash: string },
): string | null {
  if (row.seq !== previous.seq + 1) return `row ${previous.seq + 1} is missing`
  if (row.previous_hash !== previous.hash) return 'the row does not follow the one before it'
  if (chainHash(previous.hash, row) !== row.hash) return 'the row was changed'
  return null
}

function verdictOnEnd(
  database: Database,
  last: { readonly seq: number; readonly hash: string },
  rows: number,
): JournalVerdict {
  const head = readHead(database)
  const stray = database.prepare('SELECT count(*) AS count FROM journal WHERE seq < 1').get()
  if (Number(stray?.['count']) > 0) return broken(0, 0, 'a row stands before the first')
  if (!head) {
    return rows === 0 ? { ok: true, rows } : broken(rows, last.seq, 'the head of the chain is missing')
  }
  if (head.seq > last.seq || head.count > rows) {
    return broken(rows, last.seq + 1, `rows are missing at the end; ${head.count} were written`)
  }
  if (head.seq !== last.seq || head.count !== rows || head.hash !== last.hash) {
    return broken(rows, last.seq, 'the end is not the one that was written')
  }
  return { ok: true, rows }
}

function broken(rows: number, brokenAt: number, detail: string): JournalVerdict {
  return { ok: false, rows, brokenAt, detail }
}

function rowsAfter(database: Database, after: number, limit: number) {
  return database
    .prepare(
      'SELECT seq, at, actor, action, subject, detail, previous_hash, hash FROM journal WHERE seq > ? ORDER BY seq LIMIT ?',
    )
    .all(after, limit)
}

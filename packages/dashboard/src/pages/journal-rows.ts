import * as z from 'zod/mini'
import { formatActor } from '@flotilla/protocol/format-actor'

const rowSchema = z.object({
  seq: z.number(),
  at: z.number(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  detail: z.unknown(),
  hash: z.string(),
})

export interface JournalRow extends z.infer<typeof rowSchema> {
  /** The lower-case text that a search uses. */
  readonly searched: string
}

/** The maximum number of rows on a page; if there are more, only the newest are shown. */
export const journalRowsMax = 5000

/** Newest first. */
export interface JournalRows {
  readonly rows: readonly JournalRow[]
  /** True if older rows match the filter too, but are not in `rows`. */
  readonly more: boolean
}

/** Joins the known rows with newly read ones; rows in both are kept once. Pure. */
export function joinJournalRows(before: JournalRows, after: JournalRows): JournalRows {
  const newest = before.rows[0]?.seq ?? -1
  const fresh = after.rows.filter(({ seq }) => seq > newest)
  if (fresh.length === 0) return before
  const rows = [...fresh, ...before.rows]
  return {
    rows: rows.slice(0, journalRowsMax),
    more: before.more || after.more || rows.length > journalRowsMax,
  }
}

/** Reads a whole export, and keeps the newest rows, newest first. */
export async function readJournalRows(pieces: AsyncIterable<Uint8Array>): Promise<JournalRows> {
  const decoder = new TextDecoder()
  let rest = ''
  let rows: JournalRow[] = []
  let more = false
  for await (const piece of pieces) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') rows.push(readRow(line))
    if (rows.length > 2 * journalRowsMax) {
      rows = rows.slice(-journalRowsMax)
      more = true
    }
  }
  if (rest !== '') rows.push(readRow(rest))
  return { rows: rows.slice(-journalRowsMax).toReversed(), more: more || rows.length > journalRowsMax }
}

function readRow(line: string): JournalRow {
  const row = rowSchema.parse(JSON.parse(line))
  const searched = [row.actor, formatActor(row.actor), row.action, row.subject, JSON.stringify(row.detail)]
    .join('\n')
    .toLowerCase()
  return { ...row, searched }
}

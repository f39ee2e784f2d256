import type { Database } from '../storage/index.ts'
import { journalRowSchema } from './read-journal.ts'
import type { JournalRow } from './read-journal.ts'

export interface JournalFilter {
  /** Milliseconds since 1970; `since` is included, `until` is not. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  readonly actor?: string | undefined
  /** A whole action, or a prefix with a star at its end. */
  readonly action?: string | undefined
  /** Rows with this agent as actor or subject. */
  readonly agent?: string | undefined
}

/** Rows read at once; the event loop runs between two reads. */
const windowRows = 1000

/**
 * Yields matching rows, oldest first, up to the row that was the last when the export began. Throws at an unreadable
 * row.
 */
export async function* exportJournal(
  database: Database,
  filter: JournalFilter,
  signal: AbortSignal,
): AsyncGenerator<JournalRow> {
  const ends = database.prepare('SELECT min(seq) AS first, max(seq) AS last FROM journal').get()
  const last = Number(ends?.['last'] ?? 0)
  for (let from = Number(ends?.['first'] ?? 1); from <= last && !signal.aborted; from += windowRows) {
    const page = database
      .prepare(
        `SELECT seq, at, actor, action, subject, detail, previous_hash, hash FROM journal
          WHERE seq >= ? AND seq < ? AND seq <= ? ORDER BY seq`,
      )
      .all(from, from + windowRows, last)
    for (const raw of page) {
      const row = journalRowSchema.parse(raw)
      if (fits(row, filter)) yield row
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Whether a row matches the filter. Pure. */
export function fits(row: JournalRow, { since, until, actor, action, agent }: JournalFilter): boolean {
  if (since !== undefined && row.at < since) return false
  if (until !== undefined && row.at >= until) return false
  if (actor !== undefined && row.actor !== actor) return false
  if (action !== undefined && !actionFits(row.action, action)) return false
  return agent === undefined || isAbout(row, agent)
}

function actionFits(action: string, pattern: string): boolean {
  return pattern.endsWith('*') ? action.startsWith(pattern.slice(0, -1)) : action === pattern
}

function isAbout(row: JournalRow, agent: string): boolean {
  const { detail } = row
  return (
    row.actor === `agent:${agent}` ||
    row.subject === agent ||
    row.subject === `agent:${agent}` ||
    detail['agent'] === agent ||
    detail['assignee'] === agent
  )
}

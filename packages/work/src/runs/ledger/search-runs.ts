import { noSuchRun } from '@flotilla/protocol/not-found'
import type { Origin } from '@flotilla/protocol/origin'
import type { RunState } from '@flotilla/protocol/run'
import type { Database } from '@flotilla/foundation/storage'
import type { RunRecord } from './run-record.ts'
import { readRuns, runColumns } from './run-row.ts'
import type { RunTasks } from './run-tasks.ts'

/**
 * Rows that one search scans, so that it does not block the event loop for long: 10,000 rows of a kilobyte take some
 * 30 ms. The next search continues after them. A search for one agent scans only the rows of this agent.
 */
const searchedMax = 10_000
/** Maximum number of tasks with a matching title whose runs are found. */
const titledMax = 500

export interface RunSearch {
  readonly agentId?: string | undefined
  readonly state?: RunState | undefined
  readonly from?: Origin['kind'] | undefined
  /** Words to find in input, answer, task title and ids; ASCII letters match in either case. */
  readonly words?: string | undefined
  /** Finds only runs that were created before the run with the id `before`. */
  readonly before?: string | undefined
  /** Finds only runs that were created at or after `since` and before `until`, in milliseconds since 1970. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  readonly limit: number
}

export interface FoundRuns {
  /** The found runs, newest first. */
  readonly runs: readonly RunRecord[]
  /** The `before` of the next search; null when no older run remains. */
  readonly older: string | null
}

/** SQL text for one LIKE over all columns; the separator prevents a match across two columns. */
const searched = `(${[
  'id',
  'agent_id',
  'trace_id',
  "coalesce(json_extract(input, '$.message'), '')",
  "coalesce(json_extract(input, '$.tool'), '')",
  "coalesce(json_extract(input, '$.params'), '')",
  "coalesce(json_extract(outcome, '$.text'), '')",
].join(' || char(10) || ')})`

/** The rows that a search scans: all, or those of one agent by its index. */
const scannedRows = { all: ':agent = :agent', ofAgent: 'agent_id = :agent' } as const
type Scanned = keyof typeof scannedRows

const like = (of: Scanned) => `SELECT position, ${runColumns} FROM runs WHERE ${scannedRows[of]}
  AND position < :below AND position >= :floor AND (:state = '' OR state = :state)
  AND created_at >= :since AND created_at < :until
  AND (:from = '' OR json_extract(origin, '$.kind') = :from)
  AND (:words = '' OR ${searched} LIKE :pattern ESCAPE '\\' OR task_id IN (SELECT value FROM json_each(:tasks)))
  ORDER BY position DESC LIMIT :limit`

/** Searches all runs, page by page. Problem `not-found` for an unknown `before`. */
export function createSearchRuns(database: Database, tasks: Pick<RunTasks, 'titled'>) {
  const { parsed } = readRuns(database)
  const numberOf = (sql: string, values: Readonly<Record<string, string | number>> = {}): number | null => {
    const row = database.prepare(sql).get(values)
    return row === undefined ? null : Number(row['position'])
  }

  function positionOf(runId: string): number {
    const position = numberOf('SELECT position FROM runs WHERE id = :runId', { runId })
    if (position === null) throw noSuchRun(runId)
    return position
  }

  /**
   * Returns the first position whose run was not created before a time. Runs are created in the order of their
   * positions, so a search that halves the range reads some twenty rows.
   */
  function positionAt(at: number): number {
    let low = 0
    let high = (numberOf('SELECT max(position) AS position FROM runs') ?? 0) + 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const row = database
        .prepare('SELECT created_at FROM runs WHERE position >= ? ORDER BY position LIMIT 1')
        .get(middle)
      if (row !== undefined && Number(row['created_at']) < at) low = middle + 1
      else high = middle
    }
    return low
  }

  return (asked: RunSearch): FoundRuns => {
    const {
      agentId = '',
      state,
      from,
      words = '',
      before,
      since = 0,
      until = Number.MAX_SAFE_INTEGER,
    } = asked
    const { limit } = asked
    const of: Scanned = agentId === '' ? 'all' : 'ofAgent'
    const start = before === undefined ? Number.MAX_SAFE_INTEGER : positionOf(before)
    const below = asked.until === undefined ? start : Math.min(start, positionAt(until))
    const lowest = asked.since === undefined ? 0 : positionAt(since)
    const floor =
      numberOf(
        `SELECT position FROM runs WHERE ${scannedRows[of]} AND position < :below
         ORDER BY position DESC LIMIT 1 OFFSET ${searchedMax - 1}`,
        { agent: agentId, below },
      ) ?? 0
    const scanned = Math.max(floor, lowest)
    const rows = database.prepare(like(of)).all({
      below,
      floor: scanned,
      since,
      until,
      agent: agentId,
      state: state ?? '',
      from: from ?? '',
      words,
      pattern: `%${words.replace(/[\\%_]/g, String.raw`\$&`)}%`,
      tasks: JSON.stringify(words === '' ? [] : tasks.titled(words, titledMax)),
      // One extra row shows whether further runs exist.
      limit: limit + 1,
    })
    const runs = rows.slice(0, limit).map(parsed)
    if (rows.length > limit) return { runs, older: runs.at(-1)?.id ?? null }
    const left = numberOf(
      `SELECT position FROM runs WHERE ${scannedRows[of]} AND position < :scanned AND position >= :lowest LIMIT 1`,
      { agent: agentId, scanned, lowest },
    )
    const last =
      left === null ? undefined : database.prepare('SELECT id FROM runs WHERE position = ?').get(floor)
    return { runs, older: last === undefined ? null : String(last['id']) }
  }
}

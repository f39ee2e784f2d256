import { Problem } from '@flotilla/protocol/problem'
import type { Origin } from '@flotilla/protocol/origin'
import type { RunState } from '@flotilla/protocol/run'
import type { Database } from '../../storage/index.ts'
import type { RunRecord } from './run-record.ts'
import { readRuns, runColumns } from './run-row.ts'
import type { RunTasks } from './run-tasks.ts'

/**
 * Rows that one question looks through, so that it never holds the loop for long: 10,000 of a kilobyte each take some
 * 30 ms. What lies before is the next question's.
 */
const searchedMax = 10_000
/** Tasks whose title has the words, of which runs are found by it. */
const titledMax = 500

export interface RunSearch {
  readonly agentId?: string | undefined
  readonly state?: RunState | undefined
  readonly from?: Origin['kind'] | undefined
  /** In what was asked and answered, the title of its task and its ids; letters of ASCII in either case. */
  readonly words?: string | undefined
  /** Only runs that were asked for before this one. */
  readonly before?: string | undefined
  readonly limit: number
}

export interface FoundRuns {
  /** Newest first. */
  readonly runs: readonly RunRecord[]
  /** Where the next question goes on, as its `before`; null where no run is left to be looked at. */
  readonly older: string | null
}

/** One LIKE over all of it, so that words that stand in two of them are never found across. */
const searched = `(${[
  'id',
  'agent_id',
  'trace_id',
  "coalesce(json_extract(input, '$.message'), '')",
  "coalesce(json_extract(input, '$.tool'), '')",
  "coalesce(json_extract(input, '$.params'), '')",
  "coalesce(json_extract(outcome, '$.text'), '')",
].join(' || char(10) || ')})`

const like = `SELECT position, ${runColumns} FROM runs WHERE position < :below AND position >= :floor
  AND (:agent = '' OR agent_id = :agent) AND (:state = '' OR state = :state)
  AND (:from = '' OR json_extract(origin, '$.kind') = :from)
  AND (:words = '' OR ${searched} LIKE :pattern ESCAPE '\\' OR task_id IN (SELECT value FROM json_each(:tasks)))
  ORDER BY position DESC LIMIT :limit`

/** Finds runs among all that the ledger has, page by page. Problem `not-found` for a `before` that is not there. */
export function createSearchRuns(database: Database, tasks: Pick<RunTasks, 'titled'>) {
  const { parsed } = readRuns(database)
  const numberOf = (sql: string, ...values: (string | number)[]): number | null => {
    const row = database.prepare(sql).get(...values)
    return row === undefined ? null : Number(row['position'])
  }

  return ({ agentId = '', state, from, words = '', before, limit }: RunSearch): FoundRuns => {
    const below =
      before === undefined
        ? Number.MAX_SAFE_INTEGER
        : numberOf('SELECT position FROM runs WHERE id = ?', before)
    if (below === null) throw new Problem('not-found', { detail: `there is no run ${before}` })
    const floor =
      numberOf(
        `SELECT position FROM runs WHERE position < ? ORDER BY position DESC LIMIT 1 OFFSET ${searchedMax - 1}`,
        below,
      ) ?? 0
    const rows = database.prepare(like).all({
      below,
      floor,
      agent: agentId,
      state: state ?? '',
      from: from ?? '',
      words,
      pattern: `%${words.replace(/[\\%_]/g, String.raw`\$&`)}%`,
      tasks: JSON.stringify(words === '' ? [] : tasks.titled(words, titledMax)),
      // One more says whether there is one more.
      limit: limit + 1,
    })
    const runs = rows.slice(0, limit).map(parsed)
    if (rows.length > limit) return { runs, older: runs.at(-1)?.id ?? null }
    const left = numberOf('SELECT position FROM runs WHERE position < ? LIMIT 1', floor)
    const last =
      left === null ? undefined : database.prepare('SELECT id FROM runs WHERE position = ?').get(floor)
    return { runs, older: last === undefined ? null : String(last['id']) }
  }
}

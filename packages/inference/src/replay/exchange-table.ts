import * as z from 'zod'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { Database } from '@flotilla/foundation/storage'
import { keptAnswerSchema, keptMessageSchema } from './exchange.ts'
import type { Exchange, KeptAnswer, KeptMessage } from './exchange.ts'

/** An exchange as it is stored: only what is new compared with the earlier exchange that it continues. */
export interface ExchangeRow {
  readonly runId: string
  readonly number: number
  readonly agentId: string
  readonly at: number
  /** The turn of the run in which the exchange took place. */
  readonly turn: number
  readonly purpose: string
  readonly model: string
  /** The number of the exchange that this one continues, and how many of its first messages this one repeats. */
  readonly after: number | null
  readonly kept: number
  readonly news: readonly KeptMessage[]
  readonly tools: Readonly<Record<string, string>>
  readonly answer: KeptAnswer
}

export interface ExchangeTable {
  /** Runs in the caller's transaction; returns false if the run no longer exists. */
  insert(row: ExchangeRow, bytes: number): boolean
  /** Returns the run's current turn; null if the run no longer exists. */
  turnOf(runId: string): number | null
  /**
   * Runs in the caller's transaction: an answer was received and is not stored yet. Marks are unique within each
   * process of the mesh.
   */
  mark(mark: number, runId: string): void
  unmark(mark: number): void
  /** Returns the runs with marked answers, each run once, and deletes all marks. */
  takeMarked(): readonly string[]
  /** Stores once why a part of a run's record is missing. */
  cut(runId: string, reason: string): void
  cutOf(runId: string): string | null
  /**
   * Returns the exchanges in order, complete, up to the given number, each with the number of characters read for it.
   * It reads each exchange on request, so a caller that pauses gets no exchange dropped during the pause.
   */
  of(runId: string, lastNumber?: number): Iterable<{ readonly exchange: Exchange; readonly chars: number }>
  /** Returns the number of the run's last exchange, -1 before the first, and the bytes of all its exchanges. */
  sizeOf(runId: string): { readonly number: number; readonly bytes: number }
  /** Returns the number of messages of a run, counted in full for each of its exchanges. */
  messagesOf(runId: string): number
  bytes(): number
  dropOlder(at: number): void
  /** Drops the oldest runs' records until all have at most `maxBytes`, and each agent's at most `agentMaxBytes`. */
  shrink(maxBytes: number, agentMaxBytes: number): void
}

const rowSchema = z.object({
  number: z.number(),
  turn: z.number(),
  at: z.number(),
  purpose: z.string(),
  model: z.string(),
  after: z.number().nullable(),
  kept: z.number(),
  news: jsonColumn(z.array(keptMessageSchema)),
  tools: jsonColumn(z.record(z.string(), z.string())),
  answer: jsonColumn(keptAnswerSchema),
  chars: z.number(),
})

export function createExchangeTable(database: Database): ExchangeTable {
  const sum = (sql: string, ...values: string[]) =>
    Number(
      database.prepare(`SELECT coalesce(sum(bytes), 0) AS bytes FROM run_exchanges ${sql}`).get(...values)?.[
        'bytes'
      ] ?? 0,
    )

  function dropOldestRun(where: string, ...values: string[]): boolean {
    const oldest = database
      .prepare(`SELECT run_id FROM run_exchanges ${where} ORDER BY at LIMIT 1`)
      .get(...values)?.['run_id']
    if (typeof oldest !== 'string') return false
    database.prepare('DELETE FROM run_exchanges WHERE run_id = ?').run(oldest)
    return true
  }

  return {
    insert: (row, bytes) => {
      const { changes } = database
        .prepare(
          `INSERT INTO run_exchanges
             (run_id, number, agent_id, at, turn, purpose, model, after, kept, news, tools, answer, bytes)
           SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM runs WHERE id = ?`,
        )
        .run(
          row.number,
          row.agentId,
          row.at,
          row.turn,
          row.purpose,
          row.model,
          row.after,
          row.kept,
          JSON.stringify(row.news),
          JSON.stringify(row.tools),
          JSON.stringify(row.answer),
          bytes,
          row.runId,
        )
      return Number(changes) > 0
    },
    mark: (mark, runId) => {
      database
        .prepare('INSERT INTO heard_exchanges (mark, run_id) SELECT ?, id FROM runs WHERE id = ?')
        .run(mark, runId)
    },
    unmark: (mark) => void database.prepare('DELETE FROM heard_exchanges WHERE mark = ?').run(mark),
    takeMarked: () => {
      const rows = database.prepare('DELETE FROM heard_exchanges RETURNING run_id').all()
      return [...new Set(rows.map((row) => String(row['run_id'])))]
    },
    turnOf: (runId) => {
      const turn = database.prepare('SELECT turn FROM runs WHERE id = ?').get(runId)?.['turn']
      return typeof turn === 'number' ? turn : null
    },
    cut: (runId, reason) => {
      database
        .prepare('INSERT OR IGNORE INTO run_records_cut (run_id, reason) SELECT id, ? FROM runs WHERE id = ?')
        .run(reason, runId)
    },
    cutOf: (runId) => {
      const reason = database.prepare('SELECT reason FROM run_records_cut WHERE run_id = ?').get(runId)?.[
        'reason'
      ]
      return typeof reason === 'string' ? reason : null
    },
    of: function* (runId, lastNumber = Number.MAX_SAFE_INTEGER) {
      const messages = new Map<number, readonly KeptMessage[]>()
      for (let number = -1; ;) {
        const raw = database
          .prepare(
            `SELECT *, length(news) + length(tools) + length(answer) AS chars FROM run_exchanges
             WHERE run_id = ? AND number > ? AND number <= ? ORDER BY number LIMIT 1`,
          )
          .get(runId, number, lastNumber)
        if (raw === undefined) return
        const { after, kept, news, chars, ...row } = rowSchema.parse(raw)
        const before = after === null ? [] : (messages.get(after) ?? [])
        const whole = [...before.slice(0, kept), ...news]
        messages.set(row.number, whole)
        number = row.number
        yield { exchange: { ...row, messages: whole }, chars: chars + whole.length }
      }
    },
    sizeOf: (runId) => {
      const found = database
        .prepare(
          'SELECT coalesce(max(number), -1) AS last, coalesce(sum(bytes), 0) AS bytes FROM run_exchanges WHERE run_id = ?',
        )
        .get(runId)
      return { number: Number(found?.['last'] ?? -1), bytes: Number(found?.['bytes'] ?? 0) }
    },
    messagesOf: (runId) =>
      Number(
        database
          .prepare(
            'SELECT coalesce(sum(kept + json_array_length(news)), 0) AS messages FROM run_exchanges WHERE run_id = ?',
          )
          .get(runId)?.['messages'] ?? 0,
      ),
    bytes: () => sum(''),
    dropOlder: (at) => {
      database.prepare('DELETE FROM run_exchanges WHERE at < ?').run(at)
    },
    shrink: (maxBytes, agentMaxBytes) => {
      const agents = database
        .prepare('SELECT agent_id FROM run_exchanges GROUP BY agent_id HAVING sum(bytes) > ?')
        .all(agentMaxBytes)
        .map((row) => String(row['agent_id']))
      for (const agentId of agents) {
        while (sum('WHERE agent_id = ?', agentId) > agentMaxBytes)
          if (!dropOldestRun('WHERE agent_id = ?', agentId)) break
      }
      while (sum('') > maxBytes) if (!dropOldestRun('')) break
    },
  }
}

import type { Clock } from '@flotilla/protocol/clock'
import { jsonValueSchema } from '@flotilla/protocol/json-value'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import type { Database } from '../storage/index.ts'
import { jsonColumn } from '../storage/index.ts'

/** Size of a row without its answer in bytes: ids, key, digest and index. Most answers are shorter. */
const rowBytes = 500
/** The agent API rejects calls of ended runs, so no repeat can arrive after this time. */
const keptAfterEndMs = 60_000
/** Rows of runs that never end are kept for longer than any run may last. */
const keptMs = 14 * 24 * 3600 * 1000

export interface EffectKey {
  readonly runId: string
  readonly key: string
}

const rowSchema = z.object({
  digest: z.string(),
  mark: z.union([z.null().transform((): JsonValue => null), jsonColumn(jsonValueSchema)]),
  /** The answer as JSON; null without one. */
  reply: z.string().nullable(),
})
export type EffectRow = z.infer<typeof rowSchema>

/** Reads and writes the rows of calls with a key. Each write joins the caller's transaction. */
export function createEffectTable({
  database,
  clock,
}: {
  readonly database: Database
  readonly clock: Clock
}) {
  /** Queried once for each run, then counted in memory; cleared after each clean-up. */
  const bytesByRun = new Map<string, number>()

  function keptBytes(runId: string): number {
    const known = bytesByRun.get(runId)
    if (known !== undefined) return known
    const row = database
      .prepare(
        'SELECT coalesce(sum(coalesce(octet_length(reply), 0) + coalesce(octet_length(mark), 0) + ?), 0) AS bytes FROM effect WHERE run_id = ?',
      )
      .get(rowBytes, runId)
    const bytes = Number(row?.['bytes'] ?? 0)
    bytesByRun.set(runId, bytes)
    return bytes
  }

  function count(runId: string, bytes: number): void {
    const known = bytesByRun.get(runId)
    if (known !== undefined) bytesByRun.set(runId, known + bytes)
    database.afterRollback(() => bytesByRun.delete(runId))
  }

  return {
    keptBytes,
    find({ runId, key }: EffectKey): EffectRow | null {
      const row = database
        .prepare('SELECT request_digest AS digest, mark, reply FROM effect WHERE run_id = ? AND key = ?')
        .get(runId, key)
      return row ? rowSchema.parse(row) : null
    },
    /** Inserts a row without an answer, or sets an existing row's mark. Problem `conflict` for another request. */
    begin({ runId, key }: EffectKey, digest: string, mark: JsonValue): void {
      const text = mark === null ? null : JSON.stringify(mark)
      const { changes } = database
        .prepare(
          `INSERT INTO effect (run_id, key, request_digest, begun_at, mark) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (run_id, key) DO UPDATE SET mark = coalesce(excluded.mark, effect.mark)
           WHERE request_digest = excluded.request_digest`,
        )
        .run(runId, key, digest, clock.now(), text)
      if (changes === 0) throw keyUsed()
      count(runId, rowBytes + Buffer.byteLength(text ?? ''))
    },
    answer({ runId, key }: EffectKey, reply: unknown): void {
      const text = JSON.stringify(reply)
      database.prepare('UPDATE effect SET reply = ? WHERE run_id = ? AND key = ?').run(text, runId, key)
      count(runId, Buffer.byteLength(text))
    },
    /** Deletes rows that no repeat can ask for any more. */
    forgetOld(): void {
      database.prepare('DELETE FROM effect WHERE begun_at < ?').run(clock.now() - keptMs)
      database
        .prepare(
          'DELETE FROM effect WHERE run_id IN (SELECT DISTINCT effect.run_id FROM effect JOIN runs ON runs.id = effect.run_id WHERE runs.ended_at <= ?)',
        )
        .run(clock.now() - keptAfterEndMs)
      bytesByRun.clear()
    },
  }
}

export function keyUsed(): Problem {
  return new Problem('conflict', { detail: 'this idempotency key was used for another request' })
}

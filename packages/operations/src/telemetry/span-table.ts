import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { Span } from './span.ts'

const rowSchema = z
  .object({
    trace_id: z.string(),
    span_id: z.string(),
    parent_id: z.string().nullable(),
    run_id: z.string(),
    agent_id: z.string(),
    name: z.string(),
    kind: z.enum(['internal', 'client']),
    status: z.enum(['unset', 'ok', 'error']),
    started_at: z.number(),
    ended_at: z.number(),
    attributes: jsonColumn(z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))),
  })
  .transform((row): Span => ({
    traceId: row.trace_id,
    spanId: row.span_id,
    parentId: row.parent_id,
    runId: row.run_id,
    agentId: row.agent_id,
    name: row.name,
    kind: row.kind,
    status: row.status,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    attributes: row.attributes,
  }))

/** Rows deleted in one step, so that no request waits for long. */
const prunedStepRows = 5000

export interface SpanTable {
  /** Inserts spans in one transaction; existing ones stay unchanged. */
  insert(spans: readonly Span[]): void
  /** Spans in order of their start; at most `limit`. */
  ofTrace(traceId: string, limit: number): readonly Span[]
  /** Deletes one step of the spans that ended before `then` and of the oldest ones above `rowsMax`. */
  prune(then: number, rowsMax: number): void
}

export function createSpanTable(database: Database): SpanTable {
  return {
    insert: (spans) =>
      database.transaction(() => {
        const statement = database.prepare(
          'INSERT OR IGNORE INTO spans (trace_id, span_id, parent_id, run_id, agent_id, name, kind, status, started_at, ended_at, attributes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
        )
        for (const span of spans) {
          statement.run(
            span.traceId,
            span.spanId,
            span.parentId,
            span.runId,
            span.agentId,
            span.name,
            span.kind,
            span.status,
            span.startedAt,
            span.endedAt,
            JSON.stringify(span.attributes),
          )
        }
      }),
    ofTrace: (traceId, limit) =>
      database
        .prepare('SELECT * FROM spans WHERE trace_id = ? ORDER BY started_at, position LIMIT ?')
        .all(traceId, limit)
        .map((row) => rowSchema.parse(row)),
    prune: (then, rowsMax) => {
      // Rows are ordered by their end time up to a fraction of a second.
      database
        .prepare(
          `DELETE FROM spans WHERE position IN (SELECT position FROM (SELECT position, ended_at FROM spans ORDER BY position LIMIT ${prunedStepRows}) WHERE position <= (SELECT max(position) FROM spans) - ? OR ended_at < ?)`,
        )
        .run(rowsMax, then)
    },
  }
}

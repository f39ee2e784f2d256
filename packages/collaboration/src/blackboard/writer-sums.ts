import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

/** The number of rows, and the number of bytes in these rows. */
export interface RowSum {
  readonly rows: number
  readonly bytes: number
}

/** The sums of each writer. Database triggers update them in the transaction of each change. */
export interface WriterSums {
  of(writtenBy: string): RowSum
  total(): RowSum
  /** Returns the writer with the largest sum; null if the table is empty. */
  largest(by: keyof RowSum): string | null
}

const sumSchema = z.object({ rows: z.number(), bytes: z.number() })
const columns = { rows: 'row_count', bytes: 'bytes' } as const

export function createWriterSums(
  database: Database,
  table: 'blackboard' | 'blackboard_versions',
): WriterSums {
  return {
    of: (writtenBy) => {
      const row = database
        .prepare('SELECT row_count AS rows, bytes FROM writer_sums WHERE table_name = ? AND written_by = ?')
        .get(table, writtenBy)
      return row ? sumSchema.parse(row) : { rows: 0, bytes: 0 }
    },
    total: () =>
      sumSchema.parse(
        database
          .prepare(
            `SELECT coalesce(sum(row_count), 0) AS rows, coalesce(sum(bytes), 0) AS bytes
             FROM writer_sums WHERE table_name = ?`,
          )
          .get(table),
      ),
    largest: (by) => {
      const row = database
        .prepare(
          `SELECT written_by FROM writer_sums WHERE table_name = ?
           ORDER BY ${columns[by]} DESC, written_by LIMIT 1`,
        )
        .get(table)
      return row ? String(row['written_by']) : null
    },
  }
}

import type { Database } from './database.ts'

type Bound = string | number

/** Reads rows by constant SQL, each checked by a schema, and the number that a statement returns as `count`. */
export function readRows<Row>(database: Database, form: { parse(row: unknown): Row }) {
  return {
    many: (sql: string, ...values: Bound[]): readonly Row[] =>
      database
        .prepare(sql)
        .all(...values)
        .map((row) => form.parse(row)),
    count: (sql: string, ...values: Bound[]): number =>
      Number(database.prepare(sql).get(...values)?.['count'] ?? 0),
  }
}

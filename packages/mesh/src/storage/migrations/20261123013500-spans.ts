import type { Migration } from '../migrate.ts'

/** Parts of traces that are over, in the order in which they were written; kept for days, and for so many rows. */
export const spansMigration: Migration = {
  version: 20261123013500,
  name: 'spans',
  sql: `
    CREATE TABLE spans (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      trace_id TEXT NOT NULL,
      span_id TEXT NOT NULL,
      parent_id TEXT,
      run_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      name TEXT NOT NULL,
      kind TEXT NOT NULL,
      status TEXT NOT NULL,
      started_at INTEGER NOT NULL,
      ended_at INTEGER NOT NULL,
      attributes TEXT NOT NULL,
      UNIQUE (trace_id, span_id)
    ) STRICT;
  `,
}

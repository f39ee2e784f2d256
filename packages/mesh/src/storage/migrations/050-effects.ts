import type { Migration } from '../migrate.ts'

/** Calls of agents that have an effect, by run and idempotency key. */
export const effectsMigration: Migration = {
  version: 50,
  name: 'effects',
  sql: `
    CREATE TABLE effect (
      run_id TEXT NOT NULL,
      key TEXT NOT NULL,
      request_digest TEXT NOT NULL,
      begun_at INTEGER NOT NULL,
      reply TEXT,
      PRIMARY KEY (run_id, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX effect_by_age ON effect (begun_at);
  `,
}

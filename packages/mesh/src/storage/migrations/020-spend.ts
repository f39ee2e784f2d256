import type { Migration } from '../migrate.ts'

/**
 * Money is in whole nano-dollars. `spend` has one row per call of a model; `spend_total` has the sums that a
 * reservation is decided by, and both change in one transaction. Scopes are `agent:<id>` with a day or a month (UTC)
 * as period, and `run:<id>` with none.
 */
export const spendMigration: Migration = {
  version: 20,
  name: 'spend',
  sql: `
    CREATE TABLE spend (
      id TEXT PRIMARY KEY,
      agent_id TEXT NOT NULL,
      run_id TEXT,
      model TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('open', 'settled', 'refunded')),
      day TEXT NOT NULL,
      reserved_nano INTEGER NOT NULL,
      cost_nano INTEGER NOT NULL DEFAULT 0,
      prompt_tokens INTEGER NOT NULL DEFAULT 0,
      completion_tokens INTEGER NOT NULL DEFAULT 0,
      opened_at INTEGER NOT NULL,
      closed_at INTEGER
    ) STRICT;
    CREATE INDEX spend_open ON spend (id) WHERE state = 'open';
    CREATE TABLE spend_total (
      scope TEXT NOT NULL,
      period TEXT NOT NULL,
      open_nano INTEGER NOT NULL DEFAULT 0,
      spent_nano INTEGER NOT NULL DEFAULT 0,
      calls INTEGER NOT NULL DEFAULT 0,
      tokens INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (scope, period)
    ) STRICT, WITHOUT ROWID;
  `,
}

import type { Migration } from '../migrate.ts'

/** Browsers that a person has or is asked for, one of an agent at most, and the runs that wait for the end of it. */
export const browserHandOversMigration: Migration = {
  version: 20261123180000,
  name: 'browser-hand-overs',
  sql: `
    CREATE TABLE browser_hand_overs (
      id TEXT PRIMARY KEY,
      agent_id TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL,
      taken_by TEXT,
      host TEXT NOT NULL,
      url TEXT NOT NULL,
      title TEXT NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE browser_waits (
      run_id TEXT NOT NULL,
      hand_over_id TEXT NOT NULL,
      PRIMARY KEY (run_id, hand_over_id)
    ) STRICT, WITHOUT ROWID;
  `,
}

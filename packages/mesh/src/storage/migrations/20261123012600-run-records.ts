import type { Migration } from '../migrate.ts'

/**
 * Requests to models and their answers in runs, without secrets and for as long as the settings say, and which run
 * replays another one.
 */
export const runRecordsMigration: Migration = {
  version: 20261123012600,
  name: 'run records',
  sql: `
    CREATE TABLE run_exchanges (
      run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
      number INTEGER NOT NULL,
      agent_id TEXT NOT NULL,
      at INTEGER NOT NULL,
      turn INTEGER NOT NULL,
      purpose TEXT NOT NULL,
      model TEXT NOT NULL,
      after INTEGER,
      kept INTEGER NOT NULL,
      news TEXT NOT NULL,
      tools TEXT NOT NULL,
      answer TEXT NOT NULL,
      bytes INTEGER NOT NULL,
      PRIMARY KEY (run_id, number)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX run_exchanges_by_time ON run_exchanges (at);
    CREATE INDEX run_exchanges_by_agent ON run_exchanges (agent_id, at);

    CREATE TABLE run_records_cut (
      run_id TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
      reason TEXT NOT NULL
    ) STRICT;

    CREATE TABLE replays (
      run_id TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
      of_run TEXT NOT NULL,
      turn INTEGER NOT NULL,
      until INTEGER,
      model TEXT
    ) STRICT;
  `,
}

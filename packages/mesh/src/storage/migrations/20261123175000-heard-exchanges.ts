import type { Migration } from '../migrate.ts'

/**
 * Received model answers of runs that are not recorded yet: rows that exist at a start were lost with the previous
 * process.
 */
export const heardExchangesMigration: Migration = {
  version: 20261123175000,
  name: 'heard exchanges',
  sql: `
    CREATE TABLE heard_exchanges (
      mark INTEGER PRIMARY KEY,
      run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE
    ) STRICT;
    CREATE INDEX heard_exchanges_by_run ON heard_exchanges (run_id);
  `,
}

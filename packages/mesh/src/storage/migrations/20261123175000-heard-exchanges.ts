import type { Migration } from '../migrate.ts'

/** Answers of models that were heard in runs and are not written down yet: what stands here at a start was lost with the mesh. */
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

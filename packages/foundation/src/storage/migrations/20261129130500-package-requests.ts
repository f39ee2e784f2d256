import type { Migration } from '../migrate.ts'

/** Requests of agents for packages, until a person has decided; ended ones count for an hour. */
export const packageRequestsMigration: Migration = {
  version: 20261129130500,
  name: 'package-requests',
  sql: `
    CREATE TABLE package_requests (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      agent_id TEXT NOT NULL,
      root_id TEXT NOT NULL,
      run_id TEXT NOT NULL,
      packages TEXT NOT NULL,
      reason TEXT NOT NULL,
      state TEXT NOT NULL,
      attempts INTEGER NOT NULL DEFAULT 0,
      due_at INTEGER NOT NULL,
      lock TEXT NOT NULL DEFAULT '',
      created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX package_requests_by_state ON package_requests (state, agent_id);
  `,
}

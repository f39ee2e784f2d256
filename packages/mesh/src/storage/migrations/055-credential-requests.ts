import type { Migration } from '../migrate.ts'

/** Requests of agents for credentials, and whether the agents were notified of the answer. */
export const credentialRequestsMigration: Migration = {
  version: 55,
  name: 'credential requests',
  sql: `
    CREATE TABLE credential_requests (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      agent_id TEXT NOT NULL,
      name TEXT NOT NULL,
      service TEXT NOT NULL,
      description TEXT NOT NULL,
      run_id TEXT,
      state TEXT NOT NULL,
      reason TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      answered_at INTEGER,
      told_at INTEGER
    ) STRICT;
    CREATE UNIQUE INDEX credential_requests_open ON credential_requests (agent_id, name) WHERE state = 'open';
    CREATE INDEX credential_requests_untold ON credential_requests (answered_at)
      WHERE state <> 'open' AND told_at IS NULL;
  `,
}

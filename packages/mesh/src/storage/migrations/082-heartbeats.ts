import type { Migration } from '../migrate.ts'

/** The result of the last heartbeat of each agent, and the state of agents without activity since then. */
export const heartbeatsMigration: Migration = {
  version: 82,
  name: 'heartbeats',
  sql: `
    CREATE TABLE heartbeats (
      agent_id TEXT PRIMARY KEY,
      known TEXT,
      last_key TEXT,
      last_at INTEGER,
      last_manual INTEGER NOT NULL,
      last_skipped TEXT,
      last_run_id TEXT
    ) STRICT;
  `,
}

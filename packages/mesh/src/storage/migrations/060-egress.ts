import type { Migration } from '../migrate.ts'

/** What agents exchanged with hosts outside. */
export const egressMigration: Migration = {
  version: 60,
  name: 'egress',
  sql: `
    CREATE TABLE egress_counts (
      agent_id TEXT NOT NULL,
      host TEXT NOT NULL,
      connections INTEGER NOT NULL,
      refused INTEGER NOT NULL,
      bytes_out INTEGER NOT NULL,
      bytes_in INTEGER NOT NULL,
      last_at INTEGER NOT NULL,
      PRIMARY KEY (agent_id, host)
    ) STRICT, WITHOUT ROWID;
  `,
}

import type { Migration } from '../migrate.ts'

/** What providers said to agents of how long a prompt may be; null where one was refused without a limit. */
export const statedWindowsMigration: Migration = {
  version: 125,
  name: 'stated windows',
  sql: `
    CREATE TABLE stated_windows (
      agent_id TEXT NOT NULL,
      model TEXT NOT NULL,
      tokens INTEGER,
      stated_at INTEGER NOT NULL,
      PRIMARY KEY (agent_id, model)
    ) STRICT;
  `,
}

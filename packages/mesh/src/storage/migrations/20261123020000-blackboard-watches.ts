import type { Migration } from '../migrate.ts'

/** Watches of blackboard keys, and pending notifications: the newest change of each key. */
export const blackboardWatchesMigration: Migration = {
  version: 20261123020000,
  name: 'blackboard watches',
  sql: `
    CREATE TABLE blackboard_watches (
      id TEXT PRIMARY KEY,
      agent_id TEXT NOT NULL,
      pattern TEXT NOT NULL,
      tell TEXT NOT NULL,
      created_by TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      last_run_id TEXT,
      hour INTEGER NOT NULL DEFAULT 0,
      told_in_hour INTEGER NOT NULL DEFAULT 0,
      told INTEGER NOT NULL DEFAULT 0,
      UNIQUE (agent_id, pattern)
    ) STRICT;
    CREATE TABLE blackboard_changes (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      watch_id TEXT NOT NULL REFERENCES blackboard_watches (id),
      key TEXT NOT NULL,
      version INTEGER NOT NULL,
      written_by TEXT NOT NULL,
      written_at INTEGER NOT NULL,
      UNIQUE (watch_id, key)
    ) STRICT;
  `,
}

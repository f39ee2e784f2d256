import type { Migration } from '../migrate.ts'

/** Changes of files that were noticed but have not fired yet, and those that fired. */
export const watchersMigration: Migration = {
  version: 85,
  name: 'watchers',
  sql: `
    CREATE TABLE watch_noticed (
      watch_id TEXT NOT NULL,
      name BLOB NOT NULL,
      change TEXT NOT NULL,
      modified_ms REAL NOT NULL,
      changed_ms REAL NOT NULL,
      size_bytes INTEGER NOT NULL,
      inode REAL NOT NULL,
      noticed_at INTEGER NOT NULL,
      PRIMARY KEY (watch_id, name)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE watch_history (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      watch_id TEXT NOT NULL,
      watch TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      filepath TEXT NOT NULL,
      change TEXT NOT NULL,
      size_bytes INTEGER NOT NULL,
      run_id TEXT NOT NULL,
      fired_at INTEGER NOT NULL
    ) STRICT;
  `,
}

import type { Migration } from '../migrate.ts'

/** One row per key; `value` is JSON text. An expired row stays a while, so that its version is not used again. */
export const blackboardMigration: Migration = {
  version: 30,
  name: 'blackboard',
  sql: `
    CREATE TABLE blackboard (
      key TEXT PRIMARY KEY,
      value TEXT NOT NULL,
      version INTEGER NOT NULL,
      written_by TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      expires_at INTEGER
    ) STRICT;
    CREATE INDEX blackboard_by_expiry ON blackboard (expires_at) WHERE expires_at IS NOT NULL;
  `,
}

import type { Migration } from '../migrate.ts'

/** Earlier values of blackboard keys; the current value is the first version. */
export const blackboardVersionsMigration: Migration = {
  version: 20261123050000,
  name: 'blackboard versions',
  sql: `
    CREATE TABLE blackboard_versions (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      key TEXT NOT NULL,
      version INTEGER NOT NULL,
      value TEXT NOT NULL,
      size_bytes INTEGER NOT NULL,
      written_by TEXT NOT NULL,
      written_at INTEGER NOT NULL,
      UNIQUE (key, version)
    ) STRICT;
    INSERT INTO blackboard_versions (key, version, value, size_bytes, written_by, written_at)
      SELECT key, version, value, length(CAST(value AS BLOB)), written_by, updated_at FROM blackboard
      WHERE expires_at IS NULL ORDER BY updated_at;
  `,
}

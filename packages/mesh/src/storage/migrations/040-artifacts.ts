import type { Migration } from '../migrate.ts'

/**
 * Artifacts that agents store outside their containers, and notifications to the owner. The bytes of artifacts are
 * files.
 */
export const artifactsMigration: Migration = {
  version: 40,
  name: 'artifacts and notes',
  sql: `
    CREATE TABLE artifacts (
      agent_id TEXT NOT NULL,
      name TEXT NOT NULL,
      version INTEGER NOT NULL,
      description TEXT NOT NULL,
      size_bytes INTEGER NOT NULL,
      sha256 TEXT NOT NULL,
      saved_at INTEGER NOT NULL,
      PRIMARY KEY (agent_id, name)
    ) STRICT;
    CREATE INDEX artifacts_by_time ON artifacts (saved_at);
    CREATE TABLE notes (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      agent_id TEXT NOT NULL,
      message TEXT NOT NULL,
      idempotency_key TEXT,
      created_at INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX notes_by_key ON notes (agent_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
  `,
}

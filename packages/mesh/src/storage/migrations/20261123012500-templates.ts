import type { Migration } from '../migrate.ts'

/** Files that agents are given with their making, and applications of templates that have begun and not ended. */
export const templatesMigration: Migration = {
  version: 20261123012500,
  name: 'templates',
  sql: `
    CREATE TABLE agent_files (
      agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
      path TEXT NOT NULL,
      content TEXT NOT NULL,
      delivered INTEGER NOT NULL,
      PRIMARY KEY (agent_id, path)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE template_applications (
      id TEXT PRIMARY KEY,
      begun_at INTEGER NOT NULL,
      undo TEXT NOT NULL
    ) STRICT;
  `,
}

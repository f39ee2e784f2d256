import type { Migration } from '../migrate.ts'

/**
 * Keeps the bodies of programs' requests that wait for a person, beside their approvals: a list of approvals must not
 * read megabytes.
 */
export const keptBodiesMigration: Migration = {
  version: 20261129010500,
  name: 'kept-bodies',
  sql: `
    CREATE TABLE kept_bodies (
      once TEXT PRIMARY KEY,
      agent_id TEXT NOT NULL,
      body BLOB NOT NULL
    ) STRICT;
    CREATE INDEX kept_bodies_of_agents ON kept_bodies (agent_id);
  `,
}

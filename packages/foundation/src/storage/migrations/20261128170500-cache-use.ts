import type { Migration } from '../migrate.ts'

/**
 * Sums by day of what the prompt caches of providers did. A day and model without cached tokens has no row.
 * `saved_nano` is negative if the reads did not pay for the writes.
 */
export const cacheUseMigration: Migration = {
  version: 20261128170500,
  name: 'cache-use',
  sql: `
    CREATE TABLE spend_cache (
      day TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      project TEXT NOT NULL,
      model TEXT NOT NULL,
      read_tokens INTEGER NOT NULL,
      written_tokens INTEGER NOT NULL,
      read_nano INTEGER NOT NULL,
      written_nano INTEGER NOT NULL,
      saved_nano INTEGER NOT NULL,
      PRIMARY KEY (day, agent_id, project, model)
    ) STRICT, WITHOUT ROWID;
  `,
}

import type { Migration } from '../migrate.ts'

/** What is paused: one agent, or the whole fleet under the name `*`. */
export const pausesMigration: Migration = {
  version: 88,
  name: 'pauses',
  sql: `
CREATE TABLE pauses (
  scope TEXT PRIMARY KEY,
  reason TEXT NOT NULL,
  actor TEXT NOT NULL,
  since INTEGER NOT NULL
) STRICT;
`,
}

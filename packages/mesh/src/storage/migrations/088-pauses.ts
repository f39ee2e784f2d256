import type { Migration } from '../migrate.ts'

/** Pauses: of one agent, or of the whole fleet under the name `*`. */
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

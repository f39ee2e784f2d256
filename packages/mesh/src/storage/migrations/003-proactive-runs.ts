import type { Migration } from '../migrate.ts'

/** Which runs a pause holds. Older ones were not begun by a trigger: there was none. */
export const proactiveRunsMigration: Migration = {
  version: 3,
  name: 'proactive runs',
  sql: 'ALTER TABLE runs ADD COLUMN proactive INTEGER NOT NULL DEFAULT 0 CHECK (proactive IN (0, 1))',
}

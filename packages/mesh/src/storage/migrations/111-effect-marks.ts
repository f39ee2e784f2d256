import type { Migration } from '../migrate.ts'

/** Marks with which an interrupted call finds the files or containers that it created outside of a transaction. */
export const effectMarksMigration: Migration = {
  version: 111,
  name: 'effect marks',
  sql: 'ALTER TABLE effect ADD COLUMN mark TEXT;',
}

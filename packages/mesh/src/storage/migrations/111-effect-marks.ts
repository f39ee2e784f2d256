import type { Migration } from '../migrate.ts'

/** By what a call that was cut off finds again what it made where no transaction reaches: a file, a container. */
export const effectMarksMigration: Migration = {
  version: 111,
  name: 'effect marks',
  sql: 'ALTER TABLE effect ADD COLUMN mark TEXT;',
}

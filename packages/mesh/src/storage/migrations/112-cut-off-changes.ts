import type { Migration } from '../migrate.ts'

/** Changes of agents that a dying mesh left in the middle: whether they were made is known by what stands there alone. */
export const cutOffChangesMigration: Migration = {
  version: 112,
  name: 'cut-off changes',
  sql: 'ALTER TABLE changes ADD COLUMN cut_off INTEGER NOT NULL DEFAULT 0;',
}

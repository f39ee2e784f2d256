import type { Migration } from '../migrate.ts'

/** Changes of agents that a dying mesh left in progress: the current value tells whether they were made. */
export const cutOffChangesMigration: Migration = {
  version: 112,
  name: 'cut-off changes',
  sql: 'ALTER TABLE changes ADD COLUMN cut_off INTEGER NOT NULL DEFAULT 0;',
}

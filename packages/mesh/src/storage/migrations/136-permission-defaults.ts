import type { Migration } from '../migrate.ts'

/** Whether the journal and the log were told of the flags that the operator has though its entry leaves them out. */
export const permissionDefaultsMigration: Migration = {
  version: 136,
  name: 'permission defaults',
  sql: 'ALTER TABLE permissions_seen ADD COLUMN defaults_told INTEGER NOT NULL DEFAULT 0;',
}

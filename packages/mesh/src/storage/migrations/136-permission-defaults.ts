import type { Migration } from '../migrate.ts'

/** Whether the operator's default flags, which its entry omits, were recorded in the audit log and the log. */
export const permissionDefaultsMigration: Migration = {
  version: 136,
  name: 'permission defaults',
  sql: 'ALTER TABLE permissions_seen ADD COLUMN defaults_told INTEGER NOT NULL DEFAULT 0;',
}

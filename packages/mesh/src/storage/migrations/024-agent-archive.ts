import type { Migration } from '../migrate.ts'

/** When an agent was put away, milliseconds since 1970; null for one that may run. */
export const agentArchiveMigration: Migration = {
  version: 24,
  name: 'agent archive',
  sql: 'ALTER TABLE agents ADD COLUMN archived_at INTEGER;',
}

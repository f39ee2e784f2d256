import type { Migration } from '../migrate.ts'

/** The project whose budget an agent is charged to; null for none. */
export const agentProjectsMigration: Migration = {
  version: 22,
  name: 'agent projects',
  sql: 'ALTER TABLE agents ADD COLUMN project TEXT;',
}

import type { Migration } from '../migrate.ts'

/** How many characters of HEARTBEAT.md the last heartbeat omitted. */
export const heartbeatRulesMigration: Migration = {
  version: 135,
  name: 'heartbeat rules',
  sql: 'ALTER TABLE heartbeats ADD COLUMN last_rules_left_out INTEGER NOT NULL DEFAULT 0;',
}

import type { Migration } from '../migrate.ts'

/** Keeps the facts by which the last heartbeat of an agent was decided, as JSON; null for heartbeats of earlier releases. */
export const heartbeatFactsMigration: Migration = {
  version: 20261129062500,
  name: 'heartbeat-facts',
  sql: 'ALTER TABLE heartbeats ADD COLUMN last_facts TEXT;',
}

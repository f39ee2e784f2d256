import type { Migration } from '../migrate.ts'

/** The fleet as the operator was last told of it. */
export const heartbeatFleetMigration: Migration = {
  version: 20261123021000,
  name: 'the fleet of a heartbeat',
  sql: 'ALTER TABLE heartbeats ADD COLUMN fleet TEXT;',
}

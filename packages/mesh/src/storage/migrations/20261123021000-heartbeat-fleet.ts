import type { Migration } from '../migrate.ts'

/** The state of the fleet in the operator's last heartbeat. */
export const heartbeatFleetMigration: Migration = {
  version: 20261123021000,
  name: 'the fleet of a heartbeat',
  sql: 'ALTER TABLE heartbeats ADD COLUMN fleet TEXT;',
}

import type { Migration } from '../migrate.ts'

/**
 * Calls whose cost nobody can tell are booked as all that was set aside for them. `unconfirmed` of a call says why;
 * in the sums it is how much of what is spent is booked so.
 */
export const unconfirmedSpendMigration: Migration = {
  version: 106,
  name: 'unconfirmed spend',
  sql: `
    ALTER TABLE spend ADD COLUMN unconfirmed TEXT;
    ALTER TABLE spend_total ADD COLUMN unconfirmed_nano INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE spend_daily ADD COLUMN unconfirmed_nano INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE spend_unjournaled ADD COLUMN unconfirmed_nano INTEGER NOT NULL DEFAULT 0;
  `,
}

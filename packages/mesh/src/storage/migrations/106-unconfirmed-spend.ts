import type { Migration } from '../migrate.ts'

/**
 * Calls of unknown cost are settled with their whole reservation. `unconfirmed` of a call says why; in the sums it is
 * the part of the spending that was settled this way.
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

import type { Migration } from '../migrate.ts'

/**
 * Keeps for each run the tokens that its harness reported in all, and the part of them that no call through the mesh
 * explains and that is counted; the latter also by hour and kind of run.
 */
export const reportedTokensMigration: Migration = {
  version: 20261130200000,
  name: 'reported-tokens',
  sql: `
    ALTER TABLE runs ADD COLUMN harness_tokens INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE runs ADD COLUMN reported_tokens INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE spend_hourly ADD COLUMN reported_tokens INTEGER NOT NULL DEFAULT 0;
  `,
}

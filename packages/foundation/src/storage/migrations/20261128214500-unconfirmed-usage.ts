import type { Migration } from '../migrate.ts'

/**
 * Keeps for each run which part of its cost and tokens is booked at the reserved amount, because a call broke off before
 * the provider reported its usage. Runs of earlier releases get the sums of their calls.
 */
export const unconfirmedUsageMigration: Migration = {
  version: 20261128214500,
  name: 'unconfirmed-usage',
  sql: `
    ALTER TABLE runs ADD COLUMN unconfirmed_usd REAL NOT NULL DEFAULT 0;
    ALTER TABLE runs ADD COLUMN unconfirmed_tokens INTEGER NOT NULL DEFAULT 0;
    UPDATE runs SET unconfirmed_usd = booked.usd, unconfirmed_tokens = booked.tokens
      FROM (
        SELECT run_id, total(cost_nano) / 1e9 AS usd,
          CAST(min(total(prompt_tokens) + total(completion_tokens), 9007199254740991) AS INTEGER) AS tokens
        FROM spend WHERE state = 'settled' AND unconfirmed IS NOT NULL AND run_id IS NOT NULL
        GROUP BY run_id
      ) AS booked
      WHERE runs.id = booked.run_id;
  `,
}

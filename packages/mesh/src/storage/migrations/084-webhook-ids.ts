import type { Migration } from '../migrate.ts'

/** An id that its signature does not cover names a delivery together with the body that was signed. */
export const webhookIdsMigration: Migration = {
  version: 84,
  name: 'webhook ids',
  sql: `
    DROP INDEX webhook_deliveries_by_sender;
    CREATE UNIQUE INDEX webhook_deliveries_by_sender ON webhook_deliveries (hook_id, sender_id, ifnull(digest, ''))
      WHERE sender_id IS NOT NULL AND state IN ('accepted', 'skipped') AND way = 'sender';
  `,
}

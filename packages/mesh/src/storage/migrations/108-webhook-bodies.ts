import type { Migration } from '../migrate.ts'

/**
 * Received bodies of each webhook, kept longer than the history, because a signature of the body alone never expires. A
 * body is stored as the first eight bytes of its SHA-256, so a million of them take a few dozen megabytes. Older
 * entries are copied from the history at the webhook's next delivery. Rows of a deleted webhook are removed in small
 * steps: deleting a million rows at once would block the mesh.
 */
export const webhookBodiesMigration: Migration = {
  version: 108,
  name: 'webhook bodies',
  sql: `
    ALTER TABLE webhooks ADD COLUMN repeats TEXT NOT NULL DEFAULT 'refuse';
    DROP INDEX webhook_deliveries_by_digest;
    CREATE TABLE webhook_memories (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      hook_id TEXT UNIQUE REFERENCES webhooks (id) ON DELETE SET NULL,
      bodies INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE webhook_bodies (
      memory INTEGER NOT NULL,
      body INTEGER NOT NULL,
      delivery INTEGER NOT NULL,
      at INTEGER NOT NULL,
      PRIMARY KEY (memory, body)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX webhook_bodies_by_age ON webhook_bodies (memory, delivery);
  `,
}

import type { Migration } from '../migrate.ts'

/**
 * Which bodies came to each webhook, apart from the history and for longer: a signature of the body alone never grows
 * old. A body is the first eight bytes of its SHA-256, so that a million of them are a few dozen megabytes. What the
 * history has of before is taken over when a webhook is next delivered to. A memory without a webhook is taken away bit by
 * bit: a million rows at once would keep everybody waiting.
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

import type { Migration } from '../migrate.ts'

/** Webhooks and the history of what came to them. Secrets are in the vault; here is only which of them hold. */
export const webhooksMigration: Migration = {
  version: 83,
  name: 'webhooks',
  sql: `
    CREATE TABLE webhooks (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      instructions TEXT NOT NULL,
      condition TEXT,
      per_minute INTEGER,
      enabled INTEGER NOT NULL,
      secret_number INTEGER,
      previous_number INTEGER,
      previous_until INTEGER,
      secrets_made INTEGER NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE webhook_deliveries (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      hook_id TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
      way TEXT NOT NULL,
      state TEXT NOT NULL,
      code TEXT,
      reason TEXT,
      sender_id TEXT,
      digest TEXT,
      size_bytes INTEGER NOT NULL,
      count INTEGER NOT NULL,
      run_id TEXT,
      outcome TEXT,
      replay_of INTEGER,
      payload TEXT,
      at INTEGER NOT NULL,
      settled_at INTEGER
    ) STRICT;
    CREATE INDEX webhook_deliveries_by_hook ON webhook_deliveries (hook_id, number);
    CREATE UNIQUE INDEX webhook_deliveries_by_sender ON webhook_deliveries (hook_id, sender_id)
      WHERE sender_id IS NOT NULL AND state IN ('accepted', 'skipped') AND way = 'sender';
    CREATE INDEX webhook_deliveries_by_digest ON webhook_deliveries (hook_id, digest, at) WHERE digest IS NOT NULL;
    CREATE INDEX webhook_deliveries_by_run ON webhook_deliveries (run_id) WHERE run_id IS NOT NULL;
    CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (at);
  `,
}

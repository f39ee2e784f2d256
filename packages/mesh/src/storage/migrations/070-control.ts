import type { Migration } from '../migrate.ts'

/** What waits for a person, and changes that can be undone. */
export const controlMigration: Migration = {
  version: 70,
  name: 'approvals and changes',
  sql: `
    CREATE TABLE approvals (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL,
      subject TEXT NOT NULL,
      summary TEXT NOT NULL,
      args TEXT NOT NULL,
      digest TEXT NOT NULL,
      asked_by TEXT NOT NULL,
      origin TEXT NOT NULL,
      run_id TEXT,
      state TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      resolved_at INTEGER,
      resolved_by TEXT,
      detail TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE UNIQUE INDEX approvals_once ON approvals (asked_by, digest) WHERE state = 'pending';
    CREATE INDEX approvals_open ON approvals (state, expires_at) WHERE state IN ('pending', 'confirmed');
    CREATE INDEX approvals_run ON approvals (run_id) WHERE state IN ('pending', 'confirmed');
    CREATE TABLE changes (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      agent_id TEXT NOT NULL,
      field TEXT NOT NULL,
      before TEXT NOT NULL,
      after TEXT NOT NULL,
      actor TEXT NOT NULL,
      reason TEXT NOT NULL,
      idempotency_key TEXT,
      state TEXT NOT NULL,
      takes_effect TEXT NOT NULL,
      applied_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      undone_at INTEGER,
      undone_by TEXT
    ) STRICT;
    CREATE UNIQUE INDEX changes_by_key ON changes (actor, idempotency_key) WHERE idempotency_key IS NOT NULL;
    CREATE INDEX changes_by_agent ON changes (agent_id, position);
    CREATE INDEX changes_by_actor ON changes (actor, position);
  `,
}

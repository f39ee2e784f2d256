import type { Migration } from '../migrate.ts'

/** Messages between agents, and the capabilities that agents declare. */
export const messagesMigration: Migration = {
  version: 20261123011900,
  name: 'messages between agents',
  sql: `
    CREATE TABLE messages (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      sender TEXT NOT NULL,
      recipient TEXT NOT NULL,
      capability TEXT,
      text TEXT NOT NULL,
      asking_run_id TEXT NOT NULL,
      root_run_id TEXT NOT NULL,
      run_id TEXT,
      idempotency_key TEXT,
      state TEXT NOT NULL CHECK (state IN ('sent', 'kept', 'answered')),
      answer TEXT,
      created_at INTEGER NOT NULL,
      answered_at INTEGER,
      CHECK (state <> 'answered' OR answer IS NOT NULL)
    ) STRICT;
    CREATE UNIQUE INDEX messages_by_key ON messages (sender, asking_run_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
    CREATE INDEX messages_by_asking ON messages (asking_run_id, state);
    CREATE INDEX messages_by_root ON messages (root_run_id);
    CREATE INDEX messages_by_run ON messages (run_id) WHERE run_id IS NOT NULL;
    CREATE INDEX messages_kept ON messages (recipient) WHERE state = 'kept' AND run_id IS NULL;
    CREATE TABLE agent_capabilities (
      agent_id TEXT NOT NULL,
      name TEXT NOT NULL,
      declared_at INTEGER NOT NULL,
      PRIMARY KEY (agent_id, name)
    ) STRICT;
    CREATE INDEX agent_capabilities_by_name ON agent_capabilities (name, agent_id);
  `,
}

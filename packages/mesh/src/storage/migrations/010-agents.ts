import type { Migration } from '../migrate.ts'

/** Agents with their states, and the tokens of their current start (hashes only). */
export const agentsMigration: Migration = {
  version: 10,
  name: 'agents',
  sql: `
    CREATE TABLE agents (
      id TEXT PRIMARY KEY,
      kind TEXT NOT NULL CHECK (kind IN ('operator', 'worker')),
      role TEXT NOT NULL,
      model TEXT,
      instructions TEXT NOT NULL,
      budget_daily_usd REAL NOT NULL,
      budget_monthly_usd REAL NOT NULL,
      created_at INTEGER NOT NULL,
      state TEXT NOT NULL DEFAULT 'stopped' CHECK (state IN ('stopped', 'starting', 'ready', 'failed')),
      state_since INTEGER NOT NULL,
      state_reason TEXT,
      start_id TEXT
    ) STRICT;
    CREATE UNIQUE INDEX agents_one_operator ON agents (kind) WHERE kind = 'operator';
    CREATE TABLE agent_tokens (
      hash TEXT PRIMARY KEY,
      agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
      token TEXT NOT NULL CHECK (token IN ('door', 'program')),
      start_id TEXT NOT NULL,
      issued_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX agent_tokens_by_agent ON agent_tokens (agent_id);
  `,
}

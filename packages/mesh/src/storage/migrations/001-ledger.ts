import type { Migration } from '../migrate.ts'

/** Runs with their input and steers, the outbox, tasks, the audit log and stored events. */
export const ledgerMigration: Migration = {
  version: 1,
  name: 'ledger',
  sql: `
CREATE TABLE runs (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  agent_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  origin TEXT NOT NULL,
  input TEXT NOT NULL,
  state TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  lease_until INTEGER,
  parent_id TEXT REFERENCES runs (id),
  task_id TEXT,
  depth INTEGER NOT NULL,
  idempotency_scope TEXT,
  idempotency_key TEXT,
  budget_usd REAL,
  trace_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  queued_since INTEGER NOT NULL,
  available_at INTEGER NOT NULL,
  waiting_since INTEGER,
  started_at INTEGER,
  turn_started_at INTEGER,
  ended_at INTEGER,
  interim_text TEXT,
  outcome TEXT,
  tokens_used INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX runs_one_per_lane ON runs (agent_id) WHERE state = 'running';
CREATE UNIQUE INDEX runs_idempotency ON runs (idempotency_scope, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_lane ON runs (agent_id, state, queued_since, position);
CREATE INDEX runs_by_state ON runs (state, queued_since, agent_id);
CREATE INDEX runs_by_agent ON runs (agent_id, position);
CREATE INDEX runs_parent ON runs (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE agent_fences (agent_id TEXT PRIMARY KEY, fence INTEGER NOT NULL) STRICT;

CREATE TABLE run_inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL REFERENCES runs (id),
  source TEXT NOT NULL,
  note TEXT NOT NULL,
  arrived_at INTEGER NOT NULL,
  given_turn INTEGER,
  UNIQUE (run_id, source)
) STRICT;

CREATE TABLE outbox (
  id TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  recipient TEXT NOT NULL,
  run_id TEXT NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL,
  detail TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  settled_at INTEGER,
  UNIQUE (source, recipient)
) STRICT;
CREATE INDEX outbox_open ON outbox (created_at) WHERE state <> 'delivered';
CREATE INDEX outbox_run ON outbox (run_id);
CREATE INDEX outbox_recipient ON outbox (recipient) WHERE state = 'pending';

CREATE TABLE tasks (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  creator TEXT NOT NULL,
  assignee TEXT NOT NULL,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  data TEXT NOT NULL,
  state TEXT NOT NULL,
  parent_run_id TEXT REFERENCES runs (id),
  run_id TEXT NOT NULL REFERENCES runs (id),
  result TEXT,
  summary TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  completed_at INTEGER
) STRICT;
CREATE INDEX tasks_assignee ON tasks (assignee, position);
CREATE INDEX tasks_creator ON tasks (creator, position);
CREATE INDEX tasks_parent ON tasks (parent_run_id) WHERE parent_run_id IS NOT NULL;

CREATE TABLE journal (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT NOT NULL,
  previous_hash TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE TABLE journal_head (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  seq INTEGER NOT NULL,
  count INTEGER NOT NULL,
  hash TEXT NOT NULL
) STRICT;

CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE event_sequence (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  reserved_until INTEGER NOT NULL,
  dropped_until INTEGER NOT NULL
) STRICT;
`,
}

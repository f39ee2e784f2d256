/**
 * Runs of agents with their input and steers, the outbox, effects by idempotency key, and pauses. The constraints
 * on steers enforce the meaning of their states for every writer.
 */
export const runsSchema = `
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
  cost_usd REAL NOT NULL DEFAULT 0,
  proactive INTEGER NOT NULL DEFAULT 0 CHECK (proactive IN (0, 1)),
  budget_tokens INTEGER CHECK (budget_tokens > 0)
) STRICT;
CREATE INDEX runs_by_agent ON runs (agent_id, position);
CREATE INDEX runs_by_state ON runs (state, queued_since, agent_id);
CREATE UNIQUE INDEX runs_idempotency ON runs (idempotency_scope, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_lane ON runs (agent_id, state, queued_since, position);
CREATE UNIQUE INDEX runs_one_per_lane ON runs (agent_id) WHERE state = 'running';
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

CREATE TABLE steers (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  agent_id TEXT NOT NULL,
  run_id TEXT REFERENCES runs (id),
  parent_run_id TEXT REFERENCES runs (id),
  origin TEXT NOT NULL,
  session TEXT NOT NULL,
  text TEXT NOT NULL,
  idempotency_scope TEXT,
  idempotency_key TEXT,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'taken', 'became-run')),
  taken_turn INTEGER,
  taken_step INTEGER,
  became_run_id TEXT UNIQUE REFERENCES runs (id),
  created_at INTEGER NOT NULL,
  settled_at INTEGER,
  CHECK (run_id IS NOT NULL OR state = 'became-run'),
  CHECK ((state = 'waiting') = (settled_at IS NULL)),
  CHECK ((state = 'taken') = (taken_step IS NOT NULL AND taken_turn IS NOT NULL)),
  CHECK ((state = 'became-run') = (became_run_id IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX steers_idempotency ON steers (idempotency_scope, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX steers_run ON steers (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX steers_waiting ON steers (agent_id) WHERE state = 'waiting';

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
CREATE INDEX outbox_recipient ON outbox (recipient) WHERE state = 'pending';
CREATE INDEX outbox_run ON outbox (run_id);

CREATE TABLE effect (
  run_id TEXT NOT NULL,
  key TEXT NOT NULL,
  request_digest TEXT NOT NULL,
  begun_at INTEGER NOT NULL,
  reply TEXT,
  mark TEXT,
  PRIMARY KEY (run_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX effect_by_age ON effect (begun_at);

CREATE TABLE pauses (
  scope TEXT PRIMARY KEY,
  reason TEXT NOT NULL,
  actor TEXT NOT NULL,
  since INTEGER NOT NULL
) STRICT;
`

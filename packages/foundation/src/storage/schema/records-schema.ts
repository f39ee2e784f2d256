/**
 * Model requests and answers of runs without secrets, replays, and the spans of traces. `heard_exchanges` are
 * answers that are received and not recorded yet: rows that exist at a start were lost with the previous process.
 */
export const recordsSchema = `
CREATE TABLE run_exchanges (
  run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  agent_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  purpose TEXT NOT NULL,
  model TEXT NOT NULL,
  after INTEGER,
  kept INTEGER NOT NULL,
  news TEXT NOT NULL,
  tools TEXT NOT NULL,
  answer TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_exchanges_by_agent ON run_exchanges (agent_id, at);
CREATE INDEX run_exchanges_by_time ON run_exchanges (at);

CREATE TABLE heard_exchanges (
  mark INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE
) STRICT;
CREATE INDEX heard_exchanges_by_run ON heard_exchanges (run_id);

CREATE TABLE run_records_cut (
  run_id TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  reason TEXT NOT NULL
) STRICT;

CREATE TABLE replays (
  run_id TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  of_run TEXT NOT NULL,
  turn INTEGER NOT NULL,
  until INTEGER,
  model TEXT
) STRICT;

CREATE TABLE spans (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  trace_id TEXT NOT NULL,
  span_id TEXT NOT NULL,
  parent_id TEXT,
  run_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  attributes TEXT NOT NULL,
  UNIQUE (trace_id, span_id)
) STRICT;
`

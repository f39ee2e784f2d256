/**
 * Agents with one state for the whole lifecycle, and what the mesh needs to continue after a restart: the purpose
 * of a stop (`state_to`), the time of the next restart (`state_due`), and the losses. Only hashes of tokens are
 * stored.
 */
export const agentsSchema = `
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('operator', 'worker')),
  role TEXT NOT NULL,
  model TEXT,
  instructions TEXT NOT NULL,
  budget_daily_usd REAL NOT NULL,
  budget_monthly_usd REAL NOT NULL,
  created_at INTEGER NOT NULL,
  state_since INTEGER NOT NULL,
  state_reason TEXT,
  start_id TEXT,
  project TEXT,
  state TEXT NOT NULL DEFAULT 'created' CHECK (state IN ( 'created', 'starting', 'running', 'unhealthy', 'stopping', 'stopped', 'hibernated', 'restarting', 'quarantined', 'archived', 'deleted')),
  state_due INTEGER,
  state_to TEXT CHECK (state_to IN ('stopped', 'hibernated', 'archived', 'deleted')),
  misses INTEGER NOT NULL DEFAULT 0,
  restarts TEXT NOT NULL DEFAULT '[]',
  quarantined_at INTEGER
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

CREATE TABLE agent_files (
  agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  content TEXT NOT NULL,
  delivered INTEGER NOT NULL,
  PRIMARY KEY (agent_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE mcp_servers (
  agent_id TEXT PRIMARY KEY REFERENCES agents (id) ON DELETE CASCADE,
  servers TEXT NOT NULL
) STRICT;

CREATE TABLE template_applications (
  id TEXT PRIMARY KEY,
  begun_at INTEGER NOT NULL,
  undo TEXT NOT NULL
) STRICT;

CREATE TABLE spawned_agents (
  agent_id TEXT PRIMARY KEY,
  parent_id TEXT NOT NULL,
  depth INTEGER NOT NULL,
  run_id TEXT,
  task_id TEXT,
  state TEXT NOT NULL CHECK (state IN ('making', 'living', 'ending')),
  reason TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL
) STRICT;
CREATE INDEX spawned_agents_by_parent ON spawned_agents (parent_id);
`

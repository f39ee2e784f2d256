/** Requests of agents for credentials, and the traffic of each agent with each external host. */
export const egressSchema = `
CREATE TABLE credential_requests (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  agent_id TEXT NOT NULL,
  name TEXT NOT NULL,
  service TEXT NOT NULL,
  description TEXT NOT NULL,
  run_id TEXT,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  answered_at INTEGER,
  told_at INTEGER
) STRICT;
CREATE UNIQUE INDEX credential_requests_open ON credential_requests (agent_id, name) WHERE state = 'open';
CREATE INDEX credential_requests_untold ON credential_requests (answered_at)
  WHERE state <> 'open' AND told_at IS NULL;

CREATE TABLE egress_counts (
  agent_id TEXT NOT NULL,
  host TEXT NOT NULL,
  connections INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  bytes_out INTEGER NOT NULL,
  bytes_in INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (agent_id, host)
) STRICT, WITHOUT ROWID;
`

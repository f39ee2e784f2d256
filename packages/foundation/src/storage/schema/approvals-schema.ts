/**
 * Actions that wait for a person, and changes that can be undone. `effect` is a digest of what an action does: one
 * agent never waits for two actions with the same effect. `approval_runs` lists further runs that asked for a
 * waiting action. `cut_off` marks a change that the mesh did not finish: the current value tells whether it was
 * made.
 */
export const approvalsSchema = `
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
  detail TEXT NOT NULL DEFAULT '',
  effect TEXT
) STRICT;
CREATE UNIQUE INDEX approvals_once ON approvals (asked_by, digest) WHERE state = 'pending';
CREATE UNIQUE INDEX approvals_one_effect ON approvals (asked_by, effect) WHERE state = 'pending' AND effect IS NOT NULL;
CREATE INDEX approvals_open ON approvals (state, expires_at) WHERE state IN ('pending', 'confirmed');
CREATE INDEX approvals_run ON approvals (run_id) WHERE state IN ('pending', 'confirmed');

CREATE TABLE approval_runs (
  approval_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  PRIMARY KEY (approval_id, run_id)
) STRICT;
CREATE INDEX approval_runs_by_run ON approval_runs (run_id);

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
  undone_by TEXT,
  digest TEXT NOT NULL DEFAULT '',
  cut_off INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX changes_by_actor ON changes (actor, position);
CREATE INDEX changes_by_agent ON changes (agent_id, position);
CREATE UNIQUE INDEX changes_by_key ON changes (actor, idempotency_key) WHERE idempotency_key IS NOT NULL;
`

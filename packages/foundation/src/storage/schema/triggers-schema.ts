/**
 * The history of cron jobs, heartbeats, webhooks and file watchers; the jobs are files, the secrets are in the vault.
 * `webhook_bodies` holds the first eight bytes of the SHA-256 of each body, for longer than the history, because a
 * signature of the body alone never expires.
 */
export const triggersSchema = `
CREATE TABLE cron_states (
  job_id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL,
  schedule_key TEXT NOT NULL,
  accounted_until INTEGER NOT NULL,
  fired INTEGER NOT NULL DEFAULT 0,
  skipped INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  failed_in_row INTEGER NOT NULL DEFAULT 0,
  last_fired_at INTEGER,
  last_outcome TEXT,
  last_text TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE cron_rows (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  due_until INTEGER NOT NULL,
  count INTEGER NOT NULL,
  count_exact INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  detail TEXT NOT NULL,
  manual INTEGER NOT NULL,
  decided_at INTEGER NOT NULL,
  late_ms INTEGER NOT NULL,
  run_id TEXT,
  outcome TEXT,
  text TEXT NOT NULL DEFAULT '',
  quiet INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX cron_rows_due ON cron_rows (job_id, due_at) WHERE manual = 0;
CREATE INDEX cron_rows_job ON cron_rows (job_id, seq);
CREATE INDEX cron_rows_open ON cron_rows (job_id) WHERE state <> 'skipped' AND outcome IS NULL;
CREATE UNIQUE INDEX cron_rows_run ON cron_rows (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE heartbeats (
  agent_id TEXT PRIMARY KEY,
  known TEXT,
  last_key TEXT,
  last_at INTEGER,
  last_manual INTEGER NOT NULL,
  last_skipped TEXT,
  last_run_id TEXT,
  last_rules_left_out INTEGER NOT NULL DEFAULT 0,
  fleet TEXT
) STRICT;

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
  created_at INTEGER NOT NULL,
  repeats TEXT NOT NULL DEFAULT 'refuse'
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
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (at);
CREATE INDEX webhook_deliveries_by_hook ON webhook_deliveries (hook_id, number);
CREATE INDEX webhook_deliveries_by_run ON webhook_deliveries (run_id) WHERE run_id IS NOT NULL;
CREATE UNIQUE INDEX webhook_deliveries_by_sender ON webhook_deliveries (hook_id, sender_id, ifnull(digest, ''))
  WHERE sender_id IS NOT NULL AND state IN ('accepted', 'skipped') AND way = 'sender';

CREATE TABLE webhook_memories (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  hook_id TEXT UNIQUE REFERENCES webhooks (id) ON DELETE SET NULL,
  bodies INTEGER NOT NULL
) STRICT;

CREATE TABLE webhook_bodies (
  memory INTEGER NOT NULL,
  body INTEGER NOT NULL,
  delivery INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (memory, body)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_bodies_by_age ON webhook_bodies (memory, delivery);

CREATE TABLE watch_noticed (
  watch_id TEXT NOT NULL,
  name BLOB NOT NULL,
  change TEXT NOT NULL,
  modified_ms REAL NOT NULL,
  changed_ms REAL NOT NULL,
  size_bytes INTEGER NOT NULL,
  inode REAL NOT NULL,
  noticed_at INTEGER NOT NULL,
  PRIMARY KEY (watch_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE watch_history (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  watch_id TEXT NOT NULL,
  watch TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  filepath TEXT NOT NULL,
  change TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  fired_at INTEGER NOT NULL
) STRICT;
`

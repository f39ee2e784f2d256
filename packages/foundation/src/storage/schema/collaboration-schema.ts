/**
 * Messages, the blackboard with watches and earlier values, topics, projects, artifacts (their bytes are files), and
 * notifications to the owner. An expired blackboard row stays for a while, so that its version is not used again. A
 * topic signal is one row for all subscribers; `shown_*` name the run and the call that delivered it.
 */
export const collaborationSchema = `
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
CREATE INDEX messages_by_asking ON messages (asking_run_id, state);
CREATE UNIQUE INDEX messages_by_key ON messages (sender, asking_run_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
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

CREATE TABLE blackboard (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  version INTEGER NOT NULL,
  written_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT;
CREATE INDEX blackboard_by_expiry ON blackboard (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX blackboard_by_writer ON blackboard (written_by);

CREATE TABLE blackboard_versions (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  value TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  written_by TEXT NOT NULL,
  written_at INTEGER NOT NULL,
  UNIQUE (key, version)
) STRICT;

CREATE TABLE blackboard_watches (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL,
  pattern TEXT NOT NULL,
  tell TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_run_id TEXT,
  told INTEGER NOT NULL DEFAULT 0,
  UNIQUE (agent_id, pattern)
) STRICT;

CREATE TABLE blackboard_changes (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  watch_id TEXT NOT NULL REFERENCES blackboard_watches (id),
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  written_by TEXT NOT NULL,
  written_at INTEGER NOT NULL,
  UNIQUE (watch_id, key)
) STRICT;

CREATE TABLE blackboard_tells (
  agent_id TEXT NOT NULL,
  hour INTEGER NOT NULL,
  told INTEGER NOT NULL,
  PRIMARY KEY (agent_id, hour)
) STRICT;

CREATE TABLE topic_subscriptions (
  agent_id TEXT NOT NULL,
  topic TEXT NOT NULL,
  subscribed_at INTEGER NOT NULL,
  PRIMARY KEY (agent_id, topic)
) STRICT, WITHOUT ROWID;
CREATE INDEX topic_subscriptions_by_topic ON topic_subscriptions (topic, agent_id);

CREATE TABLE topic_signals (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  topic TEXT NOT NULL,
  from_agent TEXT NOT NULL,
  text TEXT NOT NULL,
  data TEXT NOT NULL,
  said_at INTEGER NOT NULL
) STRICT;
CREATE INDEX topic_signals_by_topic ON topic_signals (topic, position);

CREATE TABLE topic_unread (
  agent_id TEXT NOT NULL,
  position INTEGER NOT NULL REFERENCES topic_signals (position),
  shown_run TEXT,
  shown_key TEXT,
  shown_times INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (agent_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX topic_unread_by_run ON topic_unread (shown_run) WHERE shown_run IS NOT NULL;
CREATE INDEX topic_unread_by_signal ON topic_unread (position);

CREATE TABLE projects (
  name TEXT PRIMARY KEY,
  goal TEXT NOT NULL DEFAULT '',
  criteria TEXT NOT NULL DEFAULT '[]',
  goal_version INTEGER NOT NULL DEFAULT 0,
  archived_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE project_sections (
  project TEXT NOT NULL REFERENCES projects (name),
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  version INTEGER NOT NULL,
  updated_by TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (project, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifacts (
  agent_id TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  description TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  saved_at INTEGER NOT NULL,
  project TEXT,
  PRIMARY KEY (agent_id, name)
) STRICT;
CREATE INDEX artifacts_by_project ON artifacts (project, saved_at) WHERE project IS NOT NULL;
CREATE INDEX artifacts_by_time ON artifacts (saved_at);

CREATE TABLE notes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  agent_id TEXT NOT NULL,
  message TEXT NOT NULL,
  idempotency_key TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX notes_by_agent ON notes (agent_id, seq);
CREATE UNIQUE INDEX notes_by_key ON notes (agent_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
`

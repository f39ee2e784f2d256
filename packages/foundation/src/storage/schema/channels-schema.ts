/**
 * People on chat platforms: their messages, runs, conversations, and pending messages to them. `open` is the rest
 * of the work on a message as JSON. `begun_piece` is a piece whose delivery is not confirmed. `channel_moves` lists
 * conversations to which the platform gave a new id; rows and sessions keep the first id. `channel_notices` is the
 * last event that was announced.
 */
export const channelsSchema = `
CREATE TABLE channel_messages (
  channel TEXT NOT NULL,
  message_id TEXT NOT NULL,
  sender_id TEXT NOT NULL,
  became TEXT NOT NULL,
  run_id TEXT,
  open TEXT,
  received_at INTEGER NOT NULL,
  PRIMARY KEY (channel, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_messages_by_age ON channel_messages (received_at);
CREATE INDEX channel_messages_files ON channel_messages (channel, sender_id) WHERE became = 'files';
CREATE INDEX channel_messages_open ON channel_messages (received_at) WHERE open IS NOT NULL;

CREATE TABLE channel_runs (
  run_id TEXT PRIMARY KEY,
  channel TEXT NOT NULL,
  person TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  place TEXT NOT NULL,
  reply_to TEXT,
  live_message_id TEXT,
  created_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_runs_by_age ON channel_runs (created_at);
CREATE INDEX channel_runs_open ON channel_runs (agent_id, person) WHERE ended_at IS NULL;

CREATE TABLE channel_run_files (
  run_id TEXT NOT NULL,
  name TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  saved_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_run_files_by_age ON channel_run_files (saved_at);

CREATE TABLE channel_talks (
  channel TEXT NOT NULL,
  person TEXT NOT NULL,
  conversation TEXT NOT NULL,
  place TEXT NOT NULL,
  agent_id TEXT,
  spoke_at INTEGER NOT NULL,
  sender_id TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (channel, person, conversation)
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_talks_by_age ON channel_talks (spoke_at);

CREATE TABLE channel_moves (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  channel TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  first_id TEXT NOT NULL,
  moved_at INTEGER NOT NULL,
  UNIQUE (channel, conversation_id)
) STRICT;
CREATE INDEX channel_moves_by_first ON channel_moves (channel, first_id, seq);

CREATE TABLE channel_marks (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  written_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_marks_by_age ON channel_marks (written_at);

CREATE TABLE channel_strangers (
  channel TEXT NOT NULL,
  sender_id TEXT NOT NULL,
  refused_at INTEGER NOT NULL,
  PRIMARY KEY (channel, sender_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_strangers_by_age ON channel_strangers (refused_at);

CREATE TABLE channel_letters (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  place TEXT NOT NULL,
  source TEXT NOT NULL,
  run_id TEXT,
  agent_id TEXT,
  text TEXT NOT NULL,
  buttons TEXT NOT NULL,
  reply_to TEXT,
  pieces_out INTEGER NOT NULL DEFAULT 0,
  begun_piece INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL,
  state TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  settled_at INTEGER,
  person TEXT,
  sender_id TEXT,
  files TEXT NOT NULL DEFAULT '[]',
  UNIQUE (channel, source)
) STRICT;
CREATE INDEX channel_letters_by_age ON channel_letters (settled_at) WHERE state <> 'open';
CREATE INDEX channel_letters_open ON channel_letters (channel, id) WHERE state = 'open';

CREATE TABLE channel_notices (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL) STRICT;
`

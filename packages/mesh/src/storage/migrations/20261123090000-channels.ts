import type { Migration } from '../migrate.ts'

/** People on chat platforms: their messages, their conversations and pending notifications. */
export const channelsMigration: Migration = {
  version: 20261123090000,
  name: 'channels',
  sql: `
    CREATE TABLE channel_messages (
      channel TEXT NOT NULL,
      message_id TEXT NOT NULL,
      sender_id TEXT NOT NULL,
      became TEXT NOT NULL,
      run_id TEXT,
      -- What is not done yet, as JSON; null once it is.
      open TEXT,
      received_at INTEGER NOT NULL,
      PRIMARY KEY (channel, message_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX channel_messages_by_age ON channel_messages (received_at);
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
    CREATE INDEX channel_runs_open ON channel_runs (agent_id, person) WHERE ended_at IS NULL;
    CREATE INDEX channel_runs_by_age ON channel_runs (created_at);

    CREATE TABLE channel_talks (
      channel TEXT NOT NULL,
      person TEXT NOT NULL,
      conversation TEXT NOT NULL,
      place TEXT NOT NULL,
      agent_id TEXT,
      spoke_at INTEGER NOT NULL,
      PRIMARY KEY (channel, person, conversation)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX channel_talks_by_age ON channel_talks (spoke_at);

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
      -- The piece whose end is not known: it was begun, and nobody wrote how that went.
      begun_piece INTEGER,
      attempts INTEGER NOT NULL DEFAULT 0,
      due_at INTEGER NOT NULL,
      state TEXT NOT NULL,
      detail TEXT NOT NULL DEFAULT '',
      created_at INTEGER NOT NULL,
      settled_at INTEGER,
      UNIQUE (channel, source)
    ) STRICT;
    CREATE INDEX channel_letters_open ON channel_letters (channel, id) WHERE state = 'open';
    -- Up to which event people were told.
    CREATE TABLE channel_notices (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL) STRICT;
    CREATE INDEX channel_letters_by_age ON channel_letters (settled_at) WHERE state <> 'open';
  `,
}

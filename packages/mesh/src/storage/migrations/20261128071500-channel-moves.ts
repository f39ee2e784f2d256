import type { Migration } from '../migrate.ts'

/** Conversations to which their platform gave another id, as when a group of Telegram becomes a supergroup. */
export const channelMovesMigration: Migration = {
  version: 20261128071500,
  name: 'channel-moves',
  sql: `
    CREATE TABLE channel_moves (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      channel TEXT NOT NULL,
      -- What the platform calls it since.
      conversation_id TEXT NOT NULL,
      -- What it was called first, which rows and sessions go on to name it by.
      first_id TEXT NOT NULL,
      moved_at INTEGER NOT NULL,
      UNIQUE (channel, conversation_id)
    ) STRICT;
    CREATE INDEX channel_moves_by_first ON channel_moves (channel, first_id, seq);
  `,
}

import type { Migration } from '../migrate.ts'

/** By which identity a person spoke in a conversation: once it is theirs no more, they are told nothing there unasked. */
export const channelTalkSendersMigration: Migration = {
  version: 20261123094500,
  name: 'channel-talk-senders',
  sql: `ALTER TABLE channel_talks ADD COLUMN sender_id TEXT NOT NULL DEFAULT '';`,
}

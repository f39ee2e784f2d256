import type { Migration } from '../migrate.ts'

/**
 * The identity with which a person wrote in a conversation: once it no longer belongs to them, they get no
 * notifications there.
 */
export const channelTalkSendersMigration: Migration = {
  version: 20261123094500,
  name: 'channel-talk-senders',
  sql: `ALTER TABLE channel_talks ADD COLUMN sender_id TEXT NOT NULL DEFAULT '';`,
}

import type { Migration } from '../migrate.ts'

/** The recipient of a message, so that nothing is sent to a person who was removed meanwhile. */
export const channelLetterPeopleMigration: Migration = {
  version: 20261123125000,
  name: 'channel-letter-people',
  sql: `
    ALTER TABLE channel_letters ADD COLUMN person TEXT;
    ALTER TABLE channel_letters ADD COLUMN sender_id TEXT;
  `,
}

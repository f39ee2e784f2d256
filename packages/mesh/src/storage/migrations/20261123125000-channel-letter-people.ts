import type { Migration } from '../migrate.ts'

/** For whom a letter is, so that nothing goes out to one who was removed meanwhile. */
export const channelLetterPeopleMigration: Migration = {
  version: 20261123125000,
  name: 'channel-letter-people',
  sql: `
    ALTER TABLE channel_letters ADD COLUMN person TEXT;
    ALTER TABLE channel_letters ADD COLUMN sender_id TEXT;
  `,
}

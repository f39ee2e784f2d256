import type { Migration } from '../migrate.ts'

/** The read position of each conversation on platforms without acknowledgements. */
export const channelMarksMigration: Migration = {
  version: 20261123093000,
  name: 'channel-marks',
  sql: `
    CREATE TABLE channel_marks (
      key TEXT PRIMARY KEY,
      value TEXT NOT NULL,
      written_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX channel_marks_by_age ON channel_marks (written_at);
  `,
}

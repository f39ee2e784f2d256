import type { Migration } from '../migrate.ts'

/** Files that agents made in runs of people on chat platforms, and what of them goes beside an answer. */
export const channelFilesMigration: Migration = {
  version: 20261123130000,
  name: 'channel-files',
  sql: `
    CREATE TABLE channel_run_files (
      run_id TEXT NOT NULL,
      name TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      saved_at INTEGER NOT NULL,
      PRIMARY KEY (run_id, name)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX channel_run_files_by_age ON channel_run_files (saved_at);
    ALTER TABLE channel_letters ADD COLUMN files TEXT NOT NULL DEFAULT '[]';
    CREATE INDEX channel_messages_files ON channel_messages (channel, sender_id) WHERE became = 'files';
  `,
}

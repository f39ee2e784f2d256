import type { Migration } from '../migrate.ts'

/**
 * Checkpoints from which the hash chain is verified. `verified`: it was intact up to here. `pruned`: the rows up to
 * here were deleted. `accepted`: it was broken before, and a person accepted it. `seal` is a MAC under the secret of
 * the mesh, so that write access to the database alone cannot forge one; empty on a head that an older release wrote.
 * `permissions_seen` is the last recorded state of the permissions file.
 */
export const journalCheckpointsMigration: Migration = {
  version: 23,
  name: 'journal checkpoints',
  sql: `
    ALTER TABLE journal_head ADD COLUMN seal TEXT NOT NULL DEFAULT '';
    CREATE TABLE journal_checkpoints (
      seq INTEGER PRIMARY KEY,
      hash TEXT NOT NULL,
      kind TEXT NOT NULL CHECK (kind IN ('verified', 'pruned', 'accepted')),
      at INTEGER NOT NULL,
      seal TEXT NOT NULL
    ) STRICT;
    CREATE TABLE permissions_seen (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      records TEXT NOT NULL
    ) STRICT;
  `,
}

import type { Migration } from '../migrate.ts'

/**
 * Places in the chain that it is verified from. `verified`: it was whole up to here. `pruned`: the rows up to here are
 * gone. `accepted`: it was broken before, and a person goes on from here. `seal` is a MAC under the
 * secret of the mesh, so that whoever can write to the database alone cannot make one; empty on a head that an older
 * release wrote. `permissions_seen` is what the journal was last told of the permissions file.
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

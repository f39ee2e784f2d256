import type { Migration } from '../migrate.ts'

/** Names that people gave to conversations and filters, one row a person; the owner without an entry has an empty name. */
export const ownNamesMigration: Migration = {
  version: 20261130064000,
  name: 'own-names',
  sql: `
    CREATE TABLE own_names (
      person TEXT PRIMARY KEY,
      names TEXT NOT NULL
    ) STRICT;
  `,
}

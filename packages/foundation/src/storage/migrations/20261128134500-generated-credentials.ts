import type { Migration } from '../migrate.ts'

/**
 * Keeps which agent had a credential generated, so that each agent has a share of them. Earlier ones count in
 * total only.
 */
export const generatedCredentialsMigration: Migration = {
  version: 20261128134500,
  name: 'generated-credentials',
  sql: `
    CREATE TABLE generated_credentials (
      name TEXT PRIMARY KEY,
      made_for TEXT NOT NULL,
      made_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX generated_credentials_of_agents ON generated_credentials (made_for);
  `,
}

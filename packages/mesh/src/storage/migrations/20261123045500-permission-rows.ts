import type { Migration } from '../migrate.ts'

/** Who gave an agent what is found without a look at the whole journal. */
export const permissionRowsMigration: Migration = {
  version: 20261123045500,
  name: 'rows of permissions',
  sql: `
    CREATE INDEX journal_permissions ON journal (subject, seq)
      WHERE action IN ('permission.granted', 'permission.changed', 'permission.revoked');
  `,
}

import type { Migration } from '../migrate.ts'

/** An index with which the grants of an agent are found without a scan of the whole audit log. */
export const permissionRowsMigration: Migration = {
  version: 20261123045500,
  name: 'rows of permissions',
  sql: `
    CREATE INDEX journal_permissions ON journal (subject, seq)
      WHERE action IN ('permission.granted', 'permission.changed', 'permission.revoked');
  `,
}

import type { Migration } from '../migrate.ts'

/** Finds what an agent has read from outside in the audit log, for the people who decide its approvals. */
export const outsideReadsMigration: Migration = {
  version: 20261130155900,
  name: 'outside-reads',
  sql: `
    CREATE INDEX journal_outside_reads ON journal (actor, at)
      WHERE action IN ('http.requested', 'mcp.exchanged', 'web.searched', 'browser.acted', 'proxy.opened', 'proxy.used');
  `,
}

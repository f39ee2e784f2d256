import type { Migration } from '../migrate.ts'

/** The tables whose rows each writer has a share of, and the expression for the bytes of one row. */
const tables = [
  ['blackboard', (row: string) => `octet_length(${row}.key) + octet_length(${row}.value)`],
  ['blackboard_versions', (row: string) => `${row}.size_bytes`],
] as const

const triggersOf = ([table, bytesOf]: (typeof tables)[number]) => {
  const add = `
    INSERT INTO writer_sums (table_name, written_by, row_count, bytes)
      VALUES ('${table}', NEW.written_by, 1, ${bytesOf('NEW')})
      ON CONFLICT (table_name, written_by) DO UPDATE
        SET row_count = row_count + 1, bytes = bytes + excluded.bytes;`
  const subtract = `
    UPDATE writer_sums SET row_count = row_count - 1, bytes = bytes - (${bytesOf('OLD')})
      WHERE table_name = '${table}' AND written_by = OLD.written_by;
    DELETE FROM writer_sums
      WHERE table_name = '${table}' AND written_by = OLD.written_by AND row_count <= 0;`
  return `
    INSERT INTO writer_sums (table_name, written_by, row_count, bytes)
      SELECT '${table}', written_by, count(*), sum(${bytesOf(table)}) FROM ${table} GROUP BY written_by;
    CREATE TRIGGER ${table}_sum_after_insert AFTER INSERT ON ${table} BEGIN ${add} END;
    CREATE TRIGGER ${table}_sum_after_update AFTER UPDATE ON ${table} BEGIN ${subtract} ${add} END;
    CREATE TRIGGER ${table}_sum_after_delete AFTER DELETE ON ${table} BEGIN ${subtract} END;`
}

/** Keeps how many rows and bytes of the blackboard each writer has, so that a write need not count them. */
export const blackboardBytesMigration: Migration = {
  version: 20261128102000,
  name: 'blackboard-bytes',
  sql: `
    CREATE TABLE writer_sums (
      table_name TEXT NOT NULL,
      written_by TEXT NOT NULL,
      row_count INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      PRIMARY KEY (table_name, written_by)
    ) STRICT, WITHOUT ROWID;
    DROP INDEX blackboard_by_writer;
    CREATE INDEX blackboard_versions_by_writer ON blackboard_versions (written_by, position);
    ${tables.map(triggersOf).join('')}
  `,
}

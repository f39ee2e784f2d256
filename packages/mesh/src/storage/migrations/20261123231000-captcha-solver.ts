import type { Migration } from '../migrate.ts'

/** What the caps and the breaker of the CAPTCHA solver rest on: one row. */
export const captchaSolverMigration: Migration = {
  version: 20261123231000,
  name: 'captcha-solver',
  sql: `
    CREATE TABLE captcha_solver (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      state TEXT NOT NULL
    ) STRICT;
  `,
}

import type { Migration } from '../migrate.ts'

/** The state of the CAPTCHA solver's limits and circuit breaker: one row. */
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

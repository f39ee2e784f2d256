import type { Migration } from '../migrate.ts'

const columns =
  'position, id, agent_id, run_id, parent_run_id, origin, session, text, idempotency_scope, idempotency_key, state, taken_turn, taken_step, became_run_id, created_at, settled_at'

/** Adds the state `returned` of a steer; SQLite cannot change a constraint, so the table is made again. */
export const returnedSteersMigration: Migration = {
  version: 20261128174400,
  name: 'returned-steers',
  sql: `
    ALTER TABLE steers RENAME TO steers_before;
    CREATE TABLE steers (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      agent_id TEXT NOT NULL,
      run_id TEXT REFERENCES runs (id),
      parent_run_id TEXT REFERENCES runs (id),
      origin TEXT NOT NULL,
      session TEXT NOT NULL,
      text TEXT NOT NULL,
      idempotency_scope TEXT,
      idempotency_key TEXT,
      state TEXT NOT NULL CHECK (state IN ('waiting', 'taken', 'became-run', 'returned')),
      taken_turn INTEGER,
      taken_step INTEGER,
      became_run_id TEXT UNIQUE REFERENCES runs (id),
      created_at INTEGER NOT NULL,
      settled_at INTEGER,
      CHECK (run_id IS NOT NULL OR state = 'became-run'),
      CHECK ((state = 'waiting') = (settled_at IS NULL)),
      CHECK ((state = 'taken') = (taken_step IS NOT NULL AND taken_turn IS NOT NULL)),
      CHECK ((state = 'became-run') = (became_run_id IS NOT NULL))
    ) STRICT;
    INSERT INTO steers (${columns}) SELECT ${columns} FROM steers_before;
    DROP TABLE steers_before;
    CREATE UNIQUE INDEX steers_idempotency ON steers (idempotency_scope, idempotency_key) WHERE idempotency_key IS NOT NULL;
    CREATE INDEX steers_run ON steers (run_id) WHERE run_id IS NOT NULL;
    CREATE INDEX steers_waiting ON steers (agent_id) WHERE state = 'waiting';
  `,
}

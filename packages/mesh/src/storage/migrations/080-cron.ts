import type { Migration } from '../migrate.ts'

/** What became of the due times of jobs. The jobs themselves are in `config/cron.json`. */
export const cronMigration: Migration = {
  version: 80,
  name: 'cron',
  sql: `
    CREATE TABLE cron_states (
      job_id TEXT PRIMARY KEY,
      agent_id TEXT NOT NULL,
      schedule_key TEXT NOT NULL,
      accounted_until INTEGER NOT NULL,
      fired INTEGER NOT NULL DEFAULT 0,
      skipped INTEGER NOT NULL DEFAULT 0,
      failed INTEGER NOT NULL DEFAULT 0,
      failed_in_row INTEGER NOT NULL DEFAULT 0,
      last_fired_at INTEGER,
      last_outcome TEXT,
      last_text TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE TABLE cron_rows (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      job_id TEXT NOT NULL,
      due_at INTEGER NOT NULL,
      due_until INTEGER NOT NULL,
      count INTEGER NOT NULL,
      count_exact INTEGER NOT NULL,
      state TEXT NOT NULL,
      reason TEXT,
      detail TEXT NOT NULL,
      manual INTEGER NOT NULL,
      decided_at INTEGER NOT NULL,
      late_ms INTEGER NOT NULL,
      run_id TEXT,
      outcome TEXT,
      text TEXT NOT NULL DEFAULT '',
      quiet INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX cron_rows_job ON cron_rows (job_id, seq);
    CREATE UNIQUE INDEX cron_rows_due ON cron_rows (job_id, due_at) WHERE manual = 0;
    CREATE UNIQUE INDEX cron_rows_run ON cron_rows (run_id) WHERE run_id IS NOT NULL;
    CREATE INDEX cron_rows_open ON cron_rows (job_id) WHERE state <> 'skipped' AND outcome IS NULL;
  `,
}

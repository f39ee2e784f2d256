/**
 * Money in whole nano-dollars. `spend` has one row per model call, `spend_total` the sums that decide reservations;
 * both change in one transaction. Scopes are `agent:<id>`, `project:<name>` and `fleet` with a day or a month (UTC)
 * as period, and `run:<id>` and `task:<id>` without one. `life` is the process start that made a reservation: only
 * that process releases it. Calls of unknown cost are settled with the whole reservation: `unconfirmed` says why. A
 * write that would make a sum negative fails as a whole. (An upsert inserts a difference: one trigger runs after it.)
 */
export const spendingSchema = `
CREATE TABLE spend (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL,
  run_id TEXT,
  model TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'settled', 'refunded')),
  day TEXT NOT NULL,
  reserved_nano INTEGER NOT NULL,
  cost_nano INTEGER NOT NULL DEFAULT 0,
  prompt_tokens INTEGER NOT NULL DEFAULT 0,
  completion_tokens INTEGER NOT NULL DEFAULT 0,
  opened_at INTEGER NOT NULL,
  closed_at INTEGER,
  project TEXT,
  task_id TEXT,
  life TEXT,
  unconfirmed TEXT
) STRICT;
CREATE INDEX spend_open ON spend (id) WHERE state = 'open';

CREATE TABLE spend_total (
  scope TEXT NOT NULL,
  period TEXT NOT NULL,
  open_nano INTEGER NOT NULL DEFAULT 0,
  spent_nano INTEGER NOT NULL DEFAULT 0,
  calls INTEGER NOT NULL DEFAULT 0,
  tokens INTEGER NOT NULL DEFAULT 0,
  unconfirmed_nano INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (scope, period)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER spend_total_begins_above_zero AFTER INSERT ON spend_total
  WHEN NEW.open_nano < 0 OR NEW.spent_nano < 0 OR NEW.calls < 0 OR NEW.tokens < 0
  BEGIN SELECT RAISE(ABORT, 'a sum of money would begin below zero'); END;
CREATE TRIGGER spend_total_stays_above_zero BEFORE UPDATE ON spend_total
  WHEN NEW.open_nano < 0 OR NEW.spent_nano < 0 OR NEW.calls < 0 OR NEW.tokens < 0
  BEGIN SELECT RAISE(ABORT, 'a sum of money would fall below zero'); END;

CREATE TABLE spend_daily (
  day TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  project TEXT NOT NULL,
  model TEXT NOT NULL,
  cost_nano INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  unconfirmed_nano INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (day, agent_id, project, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE spend_unjournaled (
  agent_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  project TEXT NOT NULL,
  model TEXT NOT NULL,
  cost_nano INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  unconfirmed_nano INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (agent_id, run_id, project, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE budgets (
  scope TEXT PRIMARY KEY,
  daily_usd REAL,
  monthly_usd REAL
) STRICT, WITHOUT ROWID;

CREATE TABLE budget_warnings (
  scope TEXT NOT NULL,
  period TEXT NOT NULL,
  percent INTEGER NOT NULL,
  limit_nano INTEGER NOT NULL,
  PRIMARY KEY (scope, period, percent, limit_nano)
) STRICT, WITHOUT ROWID;

CREATE TABLE stated_windows (
  agent_id TEXT NOT NULL,
  model TEXT NOT NULL,
  tokens INTEGER,
  stated_at INTEGER NOT NULL,
  PRIMARY KEY (agent_id, model)
) STRICT;
`

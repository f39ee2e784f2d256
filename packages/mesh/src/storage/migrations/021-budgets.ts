import type { Migration } from '../migrate.ts'

/**
 * Budgets of projects and of the fleet (those of agents are in `agents`), the sums for decisions, sums by day and model
 * for reports, and spending that is not in the audit log yet. Scopes are `fleet`, `project:<name>`, and `task:<id>` in
 * addition to those of step 20.
 */
export const budgetsMigration: Migration = {
  version: 21,
  name: 'budgets',
  sql: `
    ALTER TABLE spend ADD COLUMN project TEXT;
    ALTER TABLE spend ADD COLUMN task_id TEXT;
    CREATE TABLE spend_daily (
      day TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      project TEXT NOT NULL,
      model TEXT NOT NULL,
      cost_nano INTEGER NOT NULL,
      calls INTEGER NOT NULL,
      prompt_tokens INTEGER NOT NULL,
      completion_tokens INTEGER NOT NULL,
      PRIMARY KEY (day, agent_id, project, model)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO spend_daily
      SELECT day, agent_id, '', model, sum(cost_nano), count(*), sum(prompt_tokens), sum(completion_tokens)
      FROM spend WHERE state = 'settled' GROUP BY day, agent_id, model;
    INSERT INTO spend_total (scope, period, open_nano, spent_nano, calls, tokens)
      SELECT 'fleet', period, sum(open_nano), sum(spent_nano), sum(calls), sum(tokens)
      FROM spend_total WHERE scope LIKE 'agent:%' GROUP BY period;
    CREATE TABLE spend_unjournaled (
      agent_id TEXT NOT NULL,
      run_id TEXT NOT NULL,
      project TEXT NOT NULL,
      model TEXT NOT NULL,
      cost_nano INTEGER NOT NULL,
      calls INTEGER NOT NULL,
      prompt_tokens INTEGER NOT NULL,
      completion_tokens INTEGER NOT NULL,
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
  `,
}

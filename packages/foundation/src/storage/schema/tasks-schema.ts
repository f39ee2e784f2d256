/**
 * Tasks with dependencies, their history and their reviews. `previous_task_id` is the ended task that a task was
 * created from; the new task inherits the budget that the previous one used. A waiting task has no run yet.
 */
export const tasksSchema = `
CREATE TABLE tasks (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  creator TEXT NOT NULL,
  assignee TEXT NOT NULL,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  data TEXT NOT NULL,
  state TEXT NOT NULL,
  round INTEGER NOT NULL DEFAULT 0,
  project TEXT,
  origin TEXT NOT NULL,
  parent_run_id TEXT REFERENCES runs (id),
  parent_task_id TEXT,
  previous_task_id TEXT,
  run_id TEXT REFERENCES runs (id),
  idempotency_key TEXT,
  needs TEXT NOT NULL DEFAULT '[]',
  artifacts TEXT NOT NULL DEFAULT '[]',
  waits_for TEXT,
  blocked_by TEXT,
  progress TEXT,
  max_turns INTEGER,
  max_cost_usd REAL,
  max_tokens INTEGER,
  tokens_before INTEGER NOT NULL DEFAULT 0,
  cost_before_usd REAL NOT NULL DEFAULT 0,
  result TEXT,
  summary TEXT,
  outcome TEXT,
  feedback TEXT,
  outcome_by TEXT,
  outcome_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  completed_at INTEGER,
  calls_before INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tasks_assignee ON tasks (assignee, position);
CREATE INDEX tasks_completed ON tasks (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX tasks_creator ON tasks (creator, position);
CREATE UNIQUE INDEX tasks_key ON tasks (creator, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX tasks_parent ON tasks (parent_run_id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX tasks_parent_task ON tasks (parent_task_id) WHERE parent_task_id IS NOT NULL;
CREATE INDEX tasks_previous ON tasks (previous_task_id) WHERE previous_task_id IS NOT NULL;
CREATE INDEX tasks_project ON tasks (project, position) WHERE project IS NOT NULL;
CREATE INDEX tasks_waiting ON tasks (assignee, position) WHERE run_id IS NULL AND completed_at IS NULL;

CREATE TABLE task_history (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  state TEXT NOT NULL,
  words TEXT NOT NULL
) STRICT;
CREATE INDEX task_history_of ON task_history (task_id, position);

CREATE TABLE task_feedback (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  agent_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  title TEXT NOT NULL,
  outcome TEXT NOT NULL,
  comment TEXT NOT NULL,
  said_by TEXT NOT NULL,
  said_at INTEGER NOT NULL
) STRICT;
CREATE INDEX task_feedback_of ON task_feedback (agent_id, position);
`

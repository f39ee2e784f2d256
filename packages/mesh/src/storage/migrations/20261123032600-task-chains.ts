import type { Migration } from '../migrate.ts'

/** What was made of a task that ended is found by it, and goes on with what that one has used. */
export const taskChainsMigration: Migration = {
  version: 20261123032600,
  name: 'chains of tasks',
  sql: `
    ALTER TABLE tasks ADD COLUMN calls_before INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX tasks_previous ON tasks (previous_task_id) WHERE previous_task_id IS NOT NULL;
  `,
}

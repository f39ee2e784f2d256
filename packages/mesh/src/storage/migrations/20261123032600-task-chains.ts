import type { Migration } from '../migrate.ts'

/** Links a task to the ended task that it was created from; it inherits the budget that was used. */
export const taskChainsMigration: Migration = {
  version: 20261123032600,
  name: 'chains of tasks',
  sql: `
    ALTER TABLE tasks ADD COLUMN calls_before INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX tasks_previous ON tasks (previous_task_id) WHERE previous_task_id IS NOT NULL;
  `,
}

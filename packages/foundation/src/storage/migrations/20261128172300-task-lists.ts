import type { Migration } from '../migrate.ts'

/**
 * Indexes for lists of tasks. A task's row is long, so a scan of the table reads all descriptions. Lists of open
 * tasks read open tasks only; all other lists choose their tasks in `tasks_listed`, which has every column they
 * filter by.
 */
export const taskListsMigration: Migration = {
  version: 20261128172300,
  name: 'task-lists',
  sql: `
    CREATE INDEX tasks_open ON tasks (updated_at, assignee)
      WHERE state IN ('pending', 'accepted', 'working', 'blocked');
    CREATE INDEX tasks_open_of ON tasks (assignee, position)
      WHERE state IN ('pending', 'accepted', 'working', 'blocked');
    CREATE INDEX tasks_listed ON tasks (position, assignee, creator, project, state, created_at, title);
    CREATE INDEX tasks_with_artifacts ON tasks (assignee, creator) WHERE artifacts <> '[]';
    DROP INDEX tasks_project;
    CREATE INDEX tasks_project ON tasks (project, state, created_at) WHERE project IS NOT NULL;
  `,
}

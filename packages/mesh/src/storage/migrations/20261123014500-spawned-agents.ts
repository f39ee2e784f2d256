import type { Migration } from '../migrate.ts'

/**
 * Agents that agents spawned for one task: their parent and their end. A row is deleted when its agent is completely
 * removed.
 */
export const spawnedAgentsMigration: Migration = {
  version: 20261123014500,
  name: 'spawned agents',
  sql: `
    CREATE TABLE spawned_agents (
      agent_id TEXT PRIMARY KEY,
      parent_id TEXT NOT NULL,
      depth INTEGER NOT NULL,
      run_id TEXT,
      task_id TEXT,
      state TEXT NOT NULL CHECK (state IN ('making', 'living', 'ending')),
      reason TEXT NOT NULL DEFAULT '',
      created_at INTEGER NOT NULL,
      ends_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX spawned_agents_by_parent ON spawned_agents (parent_id);
  `,
}

import type { Migration } from '../migrate.ts'

/**
 * One state for an agent's whole lifecycle, including the archive, and what the mesh needs to continue after a restart:
 * the purpose of a stop, the time of the next restart of a lost agent, and the number of losses.
 */
export const agentLifecycleMigration: Migration = {
  version: 20261123012200,
  name: 'agent lifecycle',
  sql: `
    ALTER TABLE agents ADD COLUMN lifecycle TEXT NOT NULL DEFAULT 'created' CHECK (lifecycle IN (
      'created', 'starting', 'running', 'unhealthy', 'stopping', 'stopped', 'hibernated', 'restarting', 'quarantined',
      'archived', 'deleted'));
    ALTER TABLE agents ADD COLUMN state_due INTEGER;
    ALTER TABLE agents ADD COLUMN state_to TEXT CHECK (state_to IN ('stopped', 'hibernated', 'archived', 'deleted'));
    ALTER TABLE agents ADD COLUMN misses INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE agents ADD COLUMN restarts TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE agents ADD COLUMN quarantined_at INTEGER;
    UPDATE agents SET lifecycle = CASE
      WHEN archived_at IS NOT NULL THEN 'archived'
      WHEN state = 'ready' THEN 'running'
      WHEN state = 'starting' THEN 'starting'
      WHEN state = 'failed' THEN 'restarting'
      WHEN start_id IS NULL THEN 'created'
      ELSE 'stopped' END;
    UPDATE agents SET state_since = archived_at WHERE archived_at IS NOT NULL;
    UPDATE agents SET state_due = state_since WHERE lifecycle = 'restarting';
    ALTER TABLE agents DROP COLUMN state;
    ALTER TABLE agents DROP COLUMN archived_at;
    ALTER TABLE agents RENAME COLUMN lifecycle TO state;
  `,
}

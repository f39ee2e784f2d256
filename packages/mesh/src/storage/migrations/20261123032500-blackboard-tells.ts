import type { Migration } from '../migrate.ts'

/** How often an agent was notified in an hour; it outlives the watches. */
export const blackboardTellsMigration: Migration = {
  version: 20261123032500,
  name: 'blackboard tells',
  sql: `
    CREATE TABLE blackboard_tells (
      agent_id TEXT NOT NULL,
      hour INTEGER NOT NULL,
      told INTEGER NOT NULL,
      PRIMARY KEY (agent_id, hour)
    ) STRICT;
    INSERT INTO blackboard_tells (agent_id, hour, told)
      SELECT agent_id, hour, sum(told_in_hour) FROM blackboard_watches WHERE told_in_hour > 0 GROUP BY agent_id, hour;
    ALTER TABLE blackboard_watches DROP COLUMN hour;
    ALTER TABLE blackboard_watches DROP COLUMN told_in_hour;
  `,
}

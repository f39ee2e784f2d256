import type { Migration } from '../migrate.ts'

/** Counts how often each rule of the policy decided, and keeps which effects of agents it did not simply allow. */
export const policyUseMigration: Migration = {
  version: 20261129011700,
  name: 'policy-use',
  sql: `
    CREATE TABLE policy_hits (
      rule TEXT PRIMARY KEY,
      hits INTEGER NOT NULL,
      last_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE policy_stops (
      agent_id TEXT NOT NULL,
      rule TEXT NOT NULL,
      verdict TEXT NOT NULL,
      effect TEXT NOT NULL,
      count INTEGER NOT NULL,
      last_at INTEGER NOT NULL,
      PRIMARY KEY (agent_id, rule, verdict, effect)
    ) STRICT;
    CREATE INDEX policy_stops_by_time ON policy_stops (last_at);
  `,
}

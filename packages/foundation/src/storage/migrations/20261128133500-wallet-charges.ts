import type { Migration } from '../migrate.ts'

/**
 * Keeps for each payment the agents against whose limits it counts: the payer and each of its makers at that time.
 * Payments of earlier releases count for their payer and for the makers that it has now.
 */
export const walletChargesMigration: Migration = {
  version: 20261128133500,
  name: 'wallet-charges',
  sql: `
    CREATE TABLE wallet_charges (
      agent_id TEXT NOT NULL,
      signed_at INTEGER NOT NULL,
      intent_id TEXT NOT NULL REFERENCES wallet_intents (id),
      PRIMARY KEY (agent_id, signed_at, intent_id)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO wallet_charges (agent_id, signed_at, intent_id)
      WITH RECURSIVE chain (agent_id, signed_at, intent_id) AS (
        SELECT agent_id, signed_at, id FROM wallet_intents
        UNION
        SELECT spawned_agents.parent_id, chain.signed_at, chain.intent_id
          FROM chain JOIN spawned_agents ON spawned_agents.agent_id = chain.agent_id
      )
      SELECT agent_id, signed_at, intent_id FROM chain;
  `,
}

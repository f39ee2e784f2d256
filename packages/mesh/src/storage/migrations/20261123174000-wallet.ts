import type { Migration } from '../migrate.ts'

/**
 * The seed of this home, and which index of it belongs to which agent. `next_index` only rises, so that no agent ever
 * gets the keys of another. The one row stays when the files of the seed are lost, and shows that they are.
 */
export const walletMigration: Migration = {
  version: 20261123174000,
  name: 'wallet',
  sql: `
    CREATE TABLE wallet_seed (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      owner_address TEXT NOT NULL,
      next_index INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE wallet_addresses (
      wallet_index INTEGER PRIMARY KEY,
      agent_id TEXT NOT NULL,
      evm TEXT NOT NULL,
      solana TEXT NOT NULL,
      solana_derivation TEXT NOT NULL,
      given_at INTEGER NOT NULL,
      agent_gone_at INTEGER
    ) STRICT;
    CREATE UNIQUE INDEX wallet_addresses_of_agents ON wallet_addresses (agent_id) WHERE agent_gone_at IS NULL;
  `,
}

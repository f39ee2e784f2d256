import type { Migration } from '../migrate.ts'

/**
 * Payments of agents. An intent is stored with its signed bytes before anything is sent, and is tracked to its end;
 * each nonce of an address on a chain is used once. The one row of `wallet_stop` says why nothing is signed.
 */
export const walletPaymentsMigration: Migration = {
  version: 20261123223000,
  name: 'wallet-payments',
  sql: `
    CREATE TABLE wallet_intents (
      id TEXT PRIMARY KEY,
      key TEXT NOT NULL UNIQUE,
      agent_id TEXT NOT NULL,
      run_id TEXT,
      approved_by TEXT,
      chain TEXT NOT NULL,
      sender TEXT NOT NULL,
      recipient TEXT NOT NULL,
      place TEXT NOT NULL,
      nonce INTEGER,
      tx_id TEXT NOT NULL,
      signed_bytes TEXT NOT NULL,
      words TEXT NOT NULL,
      effects TEXT NOT NULL,
      payees TEXT NOT NULL,
      charged_micro_usd INTEGER NOT NULL,
      signed_at INTEGER NOT NULL,
      state TEXT NOT NULL,
      block INTEGER,
      note TEXT NOT NULL,
      looks INTEGER NOT NULL,
      next_look_at INTEGER NOT NULL,
      ended_at INTEGER,
      given_back_at INTEGER
    ) STRICT;
    CREATE UNIQUE INDEX wallet_intents_places ON wallet_intents (chain, sender, nonce) WHERE nonce IS NOT NULL;
    CREATE UNIQUE INDEX wallet_intents_transactions ON wallet_intents (chain, tx_id);
    CREATE INDEX wallet_intents_open ON wallet_intents (next_look_at) WHERE ended_at IS NULL;
    CREATE INDEX wallet_intents_of_agents ON wallet_intents (agent_id, signed_at);
    CREATE INDEX wallet_intents_by_state ON wallet_intents (state);
    CREATE INDEX wallet_intents_by_time ON wallet_intents (signed_at);
    CREATE TABLE wallet_nonces (
      chain TEXT NOT NULL,
      sender TEXT NOT NULL,
      next_nonce INTEGER NOT NULL,
      PRIMARY KEY (chain, sender)
    ) STRICT;
    CREATE TABLE wallet_payees (
      chain TEXT NOT NULL,
      address TEXT NOT NULL,
      PRIMARY KEY (chain, address)
    ) STRICT;
    CREATE TABLE wallet_stop (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      reason TEXT NOT NULL,
      at INTEGER NOT NULL
    ) STRICT;
  `,
}

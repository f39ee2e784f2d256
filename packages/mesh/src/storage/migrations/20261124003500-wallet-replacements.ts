import type { Migration } from '../migrate.ts'

/**
 * For payments that were signed again with the same nonce: the earlier bytes, any of which may still be included. For
 * each address on a chain without nonces: how far the signatures of its key were checked.
 */
export const walletReplacementsMigration: Migration = {
  version: 20261124003500,
  name: 'wallet-replacements',
  sql: `
    ALTER TABLE wallet_intents ADD COLUMN cancel_fee_micro_usd INTEGER;
    CREATE TABLE wallet_superseded (
      intent_id TEXT NOT NULL REFERENCES wallet_intents (id),
      number INTEGER NOT NULL,
      tx_id TEXT NOT NULL,
      signed_bytes TEXT NOT NULL,
      fee_raw TEXT NOT NULL,
      cancel_fee_micro_usd INTEGER,
      PRIMARY KEY (intent_id, number)
    ) STRICT;
    CREATE TABLE wallet_seen (
      chain TEXT NOT NULL,
      sender TEXT NOT NULL,
      seen TEXT NOT NULL,
      next_look_at INTEGER NOT NULL,
      PRIMARY KEY (chain, sender)
    ) STRICT;
    CREATE INDEX wallet_seen_due ON wallet_seen (next_look_at);
  `,
}

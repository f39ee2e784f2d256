/**
 * The seed of this home, addresses and payments. `next_index` only rises, so that no agent gets the keys of
 * another. An intent is stored with its signed bytes before anything is sent; each nonce of an address is used
 * once. `does` is a digest of what a payment does, without fee and nonce. The row of `wallet_stop` says why nothing
 * is signed.
 */
export const walletSchema = `
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
  given_back_at INTEGER,
  cancel_fee_micro_usd INTEGER,
  does TEXT
) STRICT;
CREATE INDEX wallet_intents_by_state ON wallet_intents (state);
CREATE INDEX wallet_intents_by_time ON wallet_intents (signed_at);
CREATE INDEX wallet_intents_equal ON wallet_intents (does, signed_at);
CREATE INDEX wallet_intents_of_agents ON wallet_intents (agent_id, signed_at);
CREATE INDEX wallet_intents_open ON wallet_intents (next_look_at) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX wallet_intents_places ON wallet_intents (chain, sender, nonce) WHERE nonce IS NOT NULL;
CREATE UNIQUE INDEX wallet_intents_transactions ON wallet_intents (chain, tx_id);

CREATE TABLE wallet_superseded (
  intent_id TEXT NOT NULL REFERENCES wallet_intents (id),
  number INTEGER NOT NULL,
  tx_id TEXT NOT NULL,
  signed_bytes TEXT NOT NULL,
  fee_raw TEXT NOT NULL,
  cancel_fee_micro_usd INTEGER,
  PRIMARY KEY (intent_id, number)
) STRICT;

CREATE TABLE wallet_nonces (
  chain TEXT NOT NULL,
  sender TEXT NOT NULL,
  next_nonce INTEGER NOT NULL,
  PRIMARY KEY (chain, sender)
) STRICT;

CREATE TABLE wallet_seen (
  chain TEXT NOT NULL,
  sender TEXT NOT NULL,
  seen TEXT NOT NULL,
  next_look_at INTEGER NOT NULL,
  PRIMARY KEY (chain, sender)
) STRICT;
CREATE INDEX wallet_seen_due ON wallet_seen (next_look_at);

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
`

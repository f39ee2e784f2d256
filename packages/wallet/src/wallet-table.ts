import type { WalletAddress } from '@flotilla/protocol/wallet-api'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import type { SolanaDerivation } from './seed/derive-keys.ts'

export interface SeedMemo {
  readonly ownerAddress: string
  /** The first index that no agent has. */
  readonly nextIndex: number
}

export interface GivenAddress extends Omit<WalletAddress, 'agent_gone_at'> {
  readonly solana_derivation: SolanaDerivation
}

export interface WalletTable {
  /** Returns the last seed of this home; null if this home never had a seed. */
  seed(): SeedMemo | null
  /** Stores the seed; its next index never decreases. */
  keepSeed(memo: SeedMemo): void
  /** Returns the addresses of the agent that has this id now; null if it has none. */
  find(agentId: string): WalletAddress | null
  /** Returns the Solana derivation of the index's address; throws for an unused index. */
  solanaDerivationOf(index: number): SolanaDerivation
  count(): number
  /** Returns addresses, newest first. */
  list(limit: number): readonly WalletAddress[]
  insert(given: GivenAddress): void
  leave(agentId: string, at: number): void
}

const memoSchema = z
  .object({ owner_address: z.string(), next_index: z.number() })
  .transform((row): SeedMemo => ({ ownerAddress: row.owner_address, nextIndex: row.next_index }))

const derivationSchema = z.object({ solana_derivation: z.enum(['hmac', 'slip-10']) })

const rowSchema = z
  .object({
    agent_id: z.string(),
    wallet_index: z.number(),
    evm: z.string(),
    solana: z.string(),
    given_at: z.number(),
    agent_gone_at: z.number().nullable(),
  })
  .transform(({ wallet_index: index, ...row }): WalletAddress => ({ ...row, index }))

export function createWalletTable(database: Database): WalletTable {
  return {
    seed: () => {
      const row = database.prepare('SELECT owner_address, next_index FROM wallet_seed').get()
      return row ? memoSchema.parse(row) : null
    },
    keepSeed: ({ ownerAddress, nextIndex }) => {
      database
        .prepare(
          `INSERT INTO wallet_seed (one, owner_address, next_index) VALUES (1, ?, ?)
           ON CONFLICT (one) DO UPDATE SET owner_address = excluded.owner_address,
             next_index = max(next_index, excluded.next_index)`,
        )
        .run(ownerAddress, nextIndex)
    },
    find: (agentId) => {
      const row = database
        .prepare('SELECT * FROM wallet_addresses WHERE agent_id = ? AND agent_gone_at IS NULL')
        .get(agentId)
      return row ? rowSchema.parse(row) : null
    },
    solanaDerivationOf: (index) => {
      const row = database
        .prepare('SELECT solana_derivation FROM wallet_addresses WHERE wallet_index = ?')
        .get(index)
      return derivationSchema.parse(row).solana_derivation
    },
    count: () => {
      const row = database.prepare('SELECT count(*) AS count FROM wallet_addresses').get()
      return z.object({ count: z.number() }).parse(row).count
    },
    list: (limit) =>
      database
        .prepare('SELECT * FROM wallet_addresses ORDER BY wallet_index DESC LIMIT ?')
        .all(limit)
        .map((row) => rowSchema.parse(row)),
    insert: ({ index, agent_id, evm, solana, solana_derivation, given_at }) => {
      database
        .prepare(
          `INSERT INTO wallet_addresses (wallet_index, agent_id, evm, solana, solana_derivation, given_at)
           VALUES (?, ?, ?, ?, ?, ?)`,
        )
        .run(index, agent_id, evm, solana, solana_derivation, given_at)
    },
    leave: (agentId, at) => {
      database
        .prepare('UPDATE wallet_addresses SET agent_gone_at = ? WHERE agent_id = ? AND agent_gone_at IS NULL')
        .run(at, agentId)
    },
  }
}

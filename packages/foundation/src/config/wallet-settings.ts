import { chainNames } from '@flotilla/protocol/wallet-api'
import * as z from 'zod'

/** JSON-RPC endpoint of one chain: a URL, or a system credential if the URL contains a key. */
const chainSchema = z
  .strictObject({
    rpc_url: z.url({ protocol: /^https?$/ }).optional(),
    /** Name of a system credential, without its prefix, that holds the whole address. */
    rpc_credential: z.string().min(1).max(128).optional(),
  })
  .refine(
    ({ rpc_url: url, rpc_credential: credential }) => (url === undefined) !== (credential === undefined),
    {
      message: 'write either rpc_url or rpc_credential',
    },
  )

/** Part of `config/settings.json`: key derivation, RPC endpoints, price sources, and limits of all agents. */
export const walletSettingsSchema = z
  .strictObject({
    /**
     * The derivation of Solana addresses from the seed: `hmac` over the path's text, or `slip-10` as common wallets
     * do. A change applies to new addresses.
     */
    solana_derivation: z.enum(['hmac', 'slip-10']).default('hmac'),
    /** The RPC endpoint of each chain. An endpoint on a private network must also be in `egress.allowed_private`. */
    chains: z.partialRecord(z.enum(chainNames), chainSchema).default({}),
    /**
     * The sources of prices, of which two must agree. A source on a private network must also be in
     * `egress.allowed_private`.
     */
    price_sources: z
      .array(
        z.strictObject({
          kind: z.enum(['coinbase', 'kraken', 'coingecko', 'defillama']),
          /** Overrides the public address of the source. */
          url: z.url({ protocol: /^https?$/ }).optional(),
        }),
      )
      .max(10)
      .default([{ kind: 'coinbase' }, { kind: 'kraken' }, { kind: 'coingecko' }, { kind: 'defillama' }]),
    /** Limits that apply to each agent whose record says 0. */
    spend_limit_per_tx_usd: z.number().min(0).max(1_000_000).default(10),
    spend_limit_daily_usd: z.number().min(0).max(1_000_000).default(100),
    rate_limit_per_hour: z.number().int().min(0).max(100_000).default(10),
    /** A payment of a higher value needs a person's approval, and so does the first payment to an address. */
    approve_above_usd: z.number().min(0).max(1_000_000).default(1),
    /** Addresses that the owner knows, by the names that people see for them. */
    known_addresses: z
      .record(
        z.string().regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}$/, 'a name is 1 to 60 plain letters and digits'),
        z.string().min(20).max(60),
      )
      .default({}),
    /** Calls that are allowed although their effects cannot be simulated: `base:0x...:stake(uint256)`. */
    allow_unsimulated: z.array(z.string().max(300)).max(100).default([]),
  })
  .prefault({})

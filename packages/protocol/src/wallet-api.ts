import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'

/** The owner's API for the seed from which all wallet keys of the fleet are derived. */
export const walletEndpoints = {
  walletInit: {
    method: 'POST',
    path: '/api/wallet/init',
    summary: 'Create the wallet seed. Only this answer contains its 24 words.',
  },
  walletSeed: {
    method: 'GET',
    path: '/api/wallet/seed',
    summary: 'Answer 410: only the creation of the wallet shows the seed.',
  },
  walletImport: {
    method: 'POST',
    path: '/api/wallet/import',
    summary: 'Import a seed by its words, or set a new passphrase for the same seed.',
  },
  walletUnlock: {
    method: 'POST',
    path: '/api/wallet/unlock',
    summary: 'Unlock the seed with its passphrase until the mesh stops.',
  },
  walletStatus: {
    method: 'GET',
    path: '/api/wallet',
    summary: 'Return whether a seed exists and whether it is unlocked.',
  },
  walletAddresses: {
    method: 'GET',
    path: '/api/wallet/addresses',
    summary: 'List the addresses of all agents.',
  },
  walletBalances: {
    method: 'GET',
    path: '/api/wallet/balances',
    summary: 'Return the current balance of each address in its chain’s native coin.',
  },
  walletAddressGive: {
    method: 'POST',
    path: '/api/wallet/addresses',
    summary: 'Return an agent’s addresses. An agent without any is assigned new ones.',
  },
} as const satisfies Record<string, Endpoint>

/**
 * Chains by their names in permission records: the chain id (EIP-155), the symbol and decimals of its own coin, and
 * the number of confirmations after which a block counts as final.
 */
export const evmChains = {
  ethereum: { id: 1, coin: 'ETH', decimals: 18, finalBlocks: 64 },
  base: { id: 8453, coin: 'ETH', decimals: 18, finalBlocks: 64 },
  arbitrum: { id: 42_161, coin: 'ETH', decimals: 18, finalBlocks: 64 },
  polygon: { id: 137, coin: 'POL', decimals: 18, finalBlocks: 64 },
  sepolia: { id: 11_155_111, coin: 'ETH', decimals: 18, finalBlocks: 64 },
} as const
export type EvmChainName = keyof typeof evmChains
/** The Solana chains, which are distinguished by the hash of their genesis block. */
export const solanaChains = {
  solana: { genesis: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d', coin: 'SOL', decimals: 9 },
  'solana-devnet': { genesis: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG', coin: 'SOL', decimals: 9 },
} as const
export type SolanaChainName = keyof typeof solanaChains
export const chains = { ...evmChains, ...solanaChains } as const
export type ChainName = keyof typeof chains
/** The chains whose contracts can be called. */
export const evmChainNames = [
  'ethereum',
  'base',
  'arbitrum',
  'polygon',
  'sepolia',
] as const satisfies readonly EvmChainName[]
export const chainNames = [
  ...evmChainNames,
  'solana',
  'solana-devnet',
] as const satisfies readonly ChainName[]

export function isSolanaChain(name: ChainName): name is SolanaChainName {
  return name in solanaChains
}

export type WalletEndpointName = keyof typeof walletEndpoints

export const walletLimits = {
  /** Twelve to twenty-four words of eight letters at most, and room for white space. */
  mnemonicMaxChars: 500,
  passphraseMinChars: 8,
  /** The maximum length of the passphrase of the wallet, in characters. */
  passphraseMaxChars: 1000,
  /** The number of non-hardened children in BIP-32, minus one. */
  indexMax: 2 ** 31 - 1,
  /** Listed addresses, newest first. */
  listedMax: 1000,
  /** The number of agents' addresses whose balances one call queries, newest first, besides the owner's. */
  balancesMax: 20,
} as const

/** The origin of a seed. */
export const walletMakings = ['generated', 'imported'] as const

/**
 * `none`: no seed exists. `locked`: the seed waits for its passphrase. `open`: keys can be derived. `lost`: the
 * seed's files are missing or do not fit together; importing the words of the seed restores it.
 */
export const walletStates = ['none', 'locked', 'open', 'lost'] as const
export type WalletState = (typeof walletStates)[number]

const passphrase = z
  .string()
  .check(
    z.minLength(
      walletLimits.passphraseMinChars,
      `a passphrase has at least ${walletLimits.passphraseMinChars} characters`,
    ),
    z.maxLength(walletLimits.passphraseMaxChars),
  )
const index = z.int().check(z.minimum(0), z.maximum(walletLimits.indexMax))

/** Why nothing is signed, and the command that resumes signing. */
export const walletHaltSchema = z.strictObject({ reason: z.string(), next: z.string() })
export type WalletHalt = z.infer<typeof walletHaltSchema>

export const walletStatusSchema = z.strictObject({
  state: z.enum(walletStates),
  /** Why the seed is lost; null in any other state. */
  fault: z.nullable(z.string()),
  made: z.nullable(z.enum(walletMakings)),
  made_at: z.nullable(z.number()),
  /** Whether a passphrase is needed after each start. */
  passphrase: z.boolean(),
  /** The EVM address at index 0: the owner's own, which no agent ever gets. */
  owner_address: z.nullable(z.string()),
  addresses: z.number(),
})
export type WalletStatus = z.infer<typeof walletStatusSchema>

export const walletAddressSchema = z.strictObject({
  agent_id: z.string(),
  index: z.number(),
  evm: z.string(),
  solana: z.string(),
  given_at: z.number(),
  /** When the agent was deleted; null while it exists. Its index is never reused. */
  agent_gone_at: z.nullable(z.number()),
})
export type WalletAddress = z.infer<typeof walletAddressSchema>

export const walletBalanceSchema = z.strictObject({
  /** Null for the owner's own address. */
  agent_id: z.nullable(z.string()),
  index: z.number(),
  /** Null if no address can be derived: on Solana the owner's own while the seed is locked. */
  address: z.nullable(z.string()),
  chain: z.enum(chainNames),
  coin: z.string(),
  /** Base units, in digits; null if the chain could not be queried. */
  raw: z.nullable(z.string()),
  /** The same amount in whole coins with all decimal places. */
  amount: z.nullable(z.string()),
  /** Why the amount is missing. */
  problem: z.nullable(z.string()),
})
export type WalletBalance = z.infer<typeof walletBalanceSchema>
export const walletBalancesSchema = z.strictObject({
  /** The chains that the owner has set up. */
  chains: z.array(z.enum(chainNames)),
  balances: z.array(walletBalanceSchema),
})
export type WalletBalances = z.infer<typeof walletBalancesSchema>

export const walletApi = {
  walletInit: {
    request: z.strictObject({ passphrase: z.optional(passphrase) }),
    response: z.strictObject({ mnemonic: z.string(), wallet: walletStatusSchema }),
  },
  walletSeed: { response: z.never() },
  walletImport: {
    request: z.strictObject({
      mnemonic: z.string().check(z.maxLength(walletLimits.mnemonicMaxChars)),
      passphrase: z.optional(passphrase),
      /** The first index for new agents: it must be above the indexes that another fleet gave to its agents. */
      first_index: z.optional(index.check(z.minimum(1))),
    }),
    response: walletStatusSchema,
  },
  walletUnlock: {
    request: z.strictObject({ passphrase: z.string().check(z.maxLength(walletLimits.passphraseMaxChars)) }),
    response: walletStatusSchema,
  },
  walletStatus: { response: walletStatusSchema },
  walletAddresses: { response: z.strictObject({ addresses: z.array(walletAddressSchema) }) },
  walletBalances: {
    query: z.strictObject({ agent_id: z.optional(agentIdSchema) }),
    response: walletBalancesSchema,
  },
  walletAddressGive: {
    request: z.strictObject({ agent_id: agentIdSchema }),
    response: walletAddressSchema,
  },
} as const satisfies Record<WalletEndpointName, EndpointSchemas>

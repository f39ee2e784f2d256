import * as z from 'zod'
import { hashSchema } from './solana-rpc.ts'
import type { SolanaRpc } from './solana-rpc.ts'

/** The maximum number of accounts in one call of `getMultipleAccounts`, as Solana limits it. */
export const accountsMax = 100
/** Maximum program log lines of a simulation. */
const logLinesMax = 40

/** A 64-bit integer; values above the exact range of a float come as text (`readJsonExactly`). */
const u64 = z
  .union([z.int().min(0), z.string().regex(/^\d{1,20}$/)])
  .transform(BigInt)
  .refine((value) => value < 2n ** 64n)
const accountSchema = z
  .looseObject({
    lamports: u64,
    owner: hashSchema,
    executable: z.boolean(),
    data: z.tuple([z.base64(), z.literal('base64')]),
  })
  .transform(({ data: [text], ...account }) => ({ ...account, data: Buffer.from(text, 'base64') }))
const accountsSchema = z.array(accountSchema.nullable()).max(accountsMax)
const simulationSchema = z.looseObject({
  err: z.unknown(),
  logs: z.array(z.string()).nullish(),
  accounts: accountsSchema.nullish(),
})
const statusSchema = z.looseObject({
  slot: u64,
  err: z.unknown(),
  confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullish(),
})

export type Account = z.infer<typeof accountSchema>
export type SignatureStatus = z.infer<typeof statusSchema>

/** The newest block that more than two thirds of the stake voted for. */
const confirmed = { commitment: 'confirmed' } as const
const finalized = { commitment: 'finalized' } as const

const at = <T>(value: z.ZodType<T>) => z.looseObject({ context: z.looseObject({ slot: u64 }), value })

/** Reads accounts of at most `accountsMax` addresses at the newest confirmed block, in order; null if missing. */
export async function readAccounts(
  { ask, failed }: SolanaRpc,
  addresses: readonly string[],
): Promise<{ readonly slot: bigint; readonly accounts: readonly (Account | null)[] }> {
  const { context, value } = await ask(
    'getMultipleAccounts',
    [addresses, { encoding: 'base64', ...confirmed }],
    at(accountsSchema),
  )
  if (value.length !== addresses.length)
    throw failed('the endpoint answered for other accounts than requested')
  return { slot: context.slot, accounts: value }
}

/** Reads the lamports of each address, without the account's data. */
export async function readLamports(
  { ask, failed }: SolanaRpc,
  addresses: readonly string[],
): Promise<readonly bigint[]> {
  const { value } = await ask(
    'getMultipleAccounts',
    [addresses, { encoding: 'base64', dataSlice: { offset: 0, length: 0 }, ...confirmed }],
    at(accountsSchema),
  )
  if (value.length !== addresses.length)
    throw failed('the endpoint answered for other accounts than requested')
  return value.map((account) => account?.lamports ?? 0n)
}

export async function latestBlockhash({ ask }: SolanaRpc) {
  const { value } = await ask(
    'getLatestBlockhash',
    [confirmed],
    at(z.looseObject({ blockhash: hashSchema, lastValidBlockHeight: z.int().min(1) })),
  )
  return value
}

/** Returns the epoch of the last finalized block. */
export function finalizedEpoch({ ask }: SolanaRpc) {
  return ask(
    'getEpochInfo',
    [finalized],
    z.looseObject({ absoluteSlot: u64, blockHeight: z.int().min(0), epoch: u64 }),
  )
}

/** Returns recent priority fees of blocks that wrote to these accounts, in micro-lamports for each compute unit. */
export async function recentPrices({ ask }: SolanaRpc, addresses: readonly string[]): Promise<bigint[]> {
  const fees = await ask(
    'getRecentPrioritizationFees',
    [addresses],
    z.array(z.looseObject({ prioritizationFee: u64 })).max(1000),
  )
  return fees.map(({ prioritizationFee }) => prioritizationFee)
}

/** Simulates a transaction without verifying signatures, and returns these accounts after it. */
export async function simulate(
  { ask }: SolanaRpc,
  wire: string,
  { addresses, minSlot }: { readonly addresses: readonly string[]; readonly minSlot: bigint },
): Promise<{ readonly failed: string | null; readonly accounts: readonly (Account | null)[] | null }> {
  const { value } = await ask(
    'simulateTransaction',
    [
      wire,
      {
        encoding: 'base64',
        sigVerify: false,
        replaceRecentBlockhash: false,
        minContextSlot: Number(minSlot),
        accounts: { encoding: 'base64', addresses },
        ...confirmed,
      },
    ],
    at(simulationSchema),
  )
  const accounts = value.accounts?.length === addresses.length ? value.accounts : null
  return {
    failed: value.err == null ? null : failureText(value.err, (value.logs ?? []).slice(-logLinesMax)),
    accounts,
  }
}

export function sendWire({ ask }: SolanaRpc, wire: string): Promise<string> {
  // Preflight is skipped: the transaction was simulated before, and preflight would reject one that was already sent.
  const options = { encoding: 'base64', skipPreflight: true, ...confirmed }
  return ask('sendTransaction', [wire, options], z.string().max(88))
}

/** Returns the status of one signature, searched in the endpoint's whole history. */
export async function signatureStatus(
  { ask, failed }: SolanaRpc,
  signature: string,
): Promise<{ readonly slot: bigint; readonly status: SignatureStatus | null }> {
  const { context, value } = await ask(
    'getSignatureStatuses',
    [[signature], { searchTransactionHistory: true }],
    at(z.array(statusSchema.nullable()).length(1)),
  )
  const [status] = value
  if (status === undefined) throw failed('the endpoint answered for other signatures than requested')
  return { slot: context.slot, status }
}

/** The maximum number of transactions in one page of an address's history. */
export const signaturesMax = 1000

const entrySchema = z.looseObject({ signature: z.string().max(88), slot: z.int().min(0) })

/**
 * Returns one page of the transactions that involve an address, newest first, from after `before`
 * back to `until`; final blocks only.
 */
export function signaturesOf(
  { ask }: SolanaRpc,
  address: string,
  { before, until, limit = signaturesMax }: { before: string | null; until: string | null; limit?: number },
) {
  return ask(
    'getSignaturesForAddress',
    [
      address,
      {
        limit,
        ...(before === null ? {} : { before }),
        ...(until === null ? {} : { until }),
        ...finalized,
      },
    ],
    z.array(entrySchema).max(limit),
  )
}

const holdingSchema = z.looseObject({
  mint: hashSchema,
  owner: z.string().nullish(),
  uiTokenAmount: z.looseObject({
    amount: z
      .string()
      .regex(/^\d{1,20}$/)
      .transform(BigInt),
  }),
})
const holdingsSchema = z.array(holdingSchema).max(256).nullish()
const recordSchema = z
  .looseObject({
    meta: z
      .looseObject({
        err: z.unknown(),
        fee: u64,
        preBalances: z.array(u64).max(256),
        postBalances: z.array(u64).max(256),
        preTokenBalances: holdingsSchema,
        postTokenBalances: holdingsSchema,
      })
      .nullable(),
    transaction: z.looseObject({
      message: z.looseObject({
        accountKeys: z.array(hashSchema).max(256),
        header: z.looseObject({ numRequiredSignatures: z.int().min(1).max(127) }),
      }),
    }),
  })
  .nullable()

export type TransactionRecord = NonNullable<z.infer<typeof recordSchema>>

/** Returns the record of a transaction in a final block; null if the endpoint does not have it. */
export function transactionOf({ ask }: SolanaRpc, signature: string): Promise<TransactionRecord | null> {
  const options = { encoding: 'json', maxSupportedTransactionVersion: 0, ...finalized }
  return ask('getTransaction', [signature, options], recordSchema)
}

/** Returns the height of the oldest block whose transactions the endpoint still knows. */
export async function oldestHeight({ ask }: SolanaRpc): Promise<number> {
  const slot = await ask('getFirstAvailableBlock', [], u64)
  const { blockHeight } = await ask(
    'getBlock',
    [
      Number(slot),
      { transactionDetails: 'none', rewards: false, maxSupportedTransactionVersion: 0, ...finalized },
    ],
    z.looseObject({ blockHeight: z.int().min(0) }),
  )
  return blockHeight
}

const logged = 'Program log: '

/** Returns one line for people: the chain's error, and the program's last log. Pure. */
export function failureText(err: unknown, logs: readonly string[]): string {
  const message = logs.findLast((line) => line.startsWith(logged))
  const name = typeof err === 'string' ? err : JSON.stringify(err)
  return message === undefined ? name : `${name}: ${message.slice(logged.length)}`
}

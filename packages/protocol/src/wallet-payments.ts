import * as z from 'zod/mini'
import { chainNames } from './wallet-api.ts'

/**
 * `signed`: the mesh has stored the signed bytes, and may not have sent them. `sent`: the chain has the transaction,
 * in no known block. `landed`: its block could still be reverted by a reorganization. The other states are final:
 * `confirmed`; `failed`, reverted by the chain at the cost of its fee; and three in which it never lands: `replaced`
 * by another transaction, `expired`, `cancelled` by its owner.
 */
export const intentStates = [
  'signed',
  'sent',
  'landed',
  'confirmed',
  'failed',
  'replaced',
  'expired',
  'cancelled',
] as const
export type IntentState = (typeof intentStates)[number]

export const paymentLimits = {
  /** The maximum length of an address on any chain, and of an amount in digits, in characters. */
  addressMaxChars: 60,
  amountMaxChars: 80,
  /** The maximum length of the signature of a contract function, in characters. */
  functionMaxChars: 1000,
  /** The maximum number of arguments of a contract call. */
  argsMax: 30,
  /** The maximum number of payments in one reply to a person, newest first. */
  listedMax: 1000,
  /** The maximum number of payments that one reply to an agent lists, newest first. */
  listedToAgentMax: 20,
  /** How often one payment may be signed again with its nonce, and the maximum multiple of its first fee. */
  replacementsMax: 5,
  replacedFeeTimesMax: 10,
} as const

/** The kind of approval that a payment needs from a person. */
export const paymentApprovalKind = 'wallet-payment'

export const paymentViewSchema = z.strictObject({
  id: z.string(),
  agent_id: z.string(),
  run_id: z.nullable(z.string()),
  chain: z.string(),
  from: z.string(),
  /** The address that the transaction names: a recipient, or a contract. */
  to: z.string(),
  what: z.string(),
  /** The chain's id of the transaction. */
  tx_id: z.string(),
  state: z.enum(intentStates),
  /** The amount that counts against the limits, in US dollars. */
  counted_usd: z.number(),
  /** True if the payment will never land, and no longer counts against the limits. */
  given_back: z.boolean(),
  approved_by: z.nullable(z.string()),
  block: z.nullable(z.number()),
  /** The last error, as text; empty without one. */
  note: z.string(),
  signed_at: z.number(),
  ended_at: z.nullable(z.number()),
})
export type PaymentView = z.infer<typeof paymentViewSchema>

const chain = z.enum(chainNames)
const address = z.string().check(z.maxLength(paymentLimits.addressMaxChars))
const amount = z.string().check(z.maxLength(paymentLimits.amountMaxChars))
const functionName = z.string().check(z.minLength(1), z.maxLength(paymentLimits.functionMaxChars))
const args = z.array(z.unknown()).check(z.maxLength(paymentLimits.argsMax))

export const walletTransferSchema = z.strictObject({
  chain,
  to: address,
  /** The amount in whole units, as digits with a decimal point. */
  amount,
  /** The token's address; the chain's own coin if omitted. */
  token: z.optional(address),
})
export type WalletTransfer = z.infer<typeof walletTransferSchema>

export const walletCallSchema = z.strictObject({
  chain,
  contract: address,
  /** `name(type,...)` */
  function: functionName,
  args,
  /** The amount of the chain's own coin that the call sends. */
  amount: z.optional(amount),
})
export type WalletCall = z.infer<typeof walletCallSchema>

export const walletReadSchema = z.strictObject({
  chain,
  contract: address,
  function: functionName,
  args,
  /** Types of the function's return values. */
  returns: z.array(z.string().check(z.maxLength(200))).check(z.minLength(1), z.maxLength(20)),
})
export type WalletRead = z.infer<typeof walletReadSchema>

/** `paid`: signed, and sent as far as its state says. `waiting`: for a person, under the id of an approval. */
export const paymentAnswerSchema = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('paid'), payment: paymentViewSchema }),
  z.strictObject({
    state: z.literal('waiting'),
    approval_id: z.string(),
    because: z.array(z.string()),
    /** Says that an equal payment was already waiting, and that one payment serves both; else absent. */
    joined: z.optional(z.string()),
  }),
])
export type PaymentAnswer = z.infer<typeof paymentAnswerSchema>

export const simulationSchema = z.strictObject({
  /** The simulated effects, one sentence each. */
  would: z.array(z.string()),
  counted_usd: z.number(),
  /** Why a person would be asked first; empty if no approval is needed. */
  asks_a_person: z.array(z.string()),
})

/** What an owner can do about a payment that does not land: raise its fee, or replace it by an empty one. */
export const paymentReplaceSchema = z.strictObject({ do: z.enum(['speed-up', 'cancel']) })

export const spentSchema = z.strictObject({
  agent_id: z.string(),
  chains: z.array(z.string()),
  contracts: z.array(z.string()),
  may: z.boolean(),
  per_tx_usd: z.number(),
  daily_usd: z.number(),
  per_hour: z.number(),
  spent_today_usd: z.number(),
  payments_last_hour: z.number(),
})

export const walletLimitsSchema = z.strictObject({
  /** Why nothing is signed; null while payments are possible. */
  stopped: z.nullable(z.string()),
  open: z.number(),
  approve_above_usd: z.number(),
  agents: z.array(spentSchema),
})
export type WalletLimits = z.infer<typeof walletLimitsSchema>

export const resumedWalletSchema = z.strictObject({
  ...walletLimitsSchema.shape,
  /** Why nothing was signed until now; null if payments were not stopped. */
  was_stopped: z.nullable(z.string()),
})
export type ResumedWallet = z.infer<typeof resumedWalletSchema>

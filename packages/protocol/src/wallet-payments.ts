import * as z from 'zod/mini'
import { chainNames } from './wallet-api.ts'

/**
 * `signed`: it is stored with its bytes, and may not have been sent. `sent`: the chain has it, in no known block.
 * `landed`: it is in a block that a reorganization could still revert. The others are final: `confirmed`; `failed`,
 * reverted by the chain at the cost of its fee; `replaced` by another transaction, `expired`, and `cancelled` by its
 * owner, in which it never lands.
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
  /** Of an address on any chain, and of an amount in digits. */
  addressMaxChars: 60,
  amountMaxChars: 80,
  functionMaxChars: 1000,
  argsMax: 30,
  /** Payments told in one answer, the newest. */
  listedMax: 1000,
  listedToAgentMax: 20,
  /** How often one payment is signed once more at its number, and how much of its first fee that may cost. */
  replacementsMax: 5,
  replacedFeeTimesMax: 10,
} as const

/** The kind of approval in which a payment waits for a person. */
export const paymentApprovalKind = 'wallet-payment'

export const paymentViewSchema = z.strictObject({
  id: z.string(),
  agent_id: z.string(),
  run_id: z.nullable(z.string()),
  chain: z.string(),
  from: z.string(),
  /** Whom the transaction names: a recipient, or a contract. */
  to: z.string(),
  what: z.string(),
  /** By which the chain names it. */
  tx_id: z.string(),
  state: z.enum(intentStates),
  /** Of the limits, in US dollars. */
  counted_usd: z.number(),
  /** It never lands, and counts no more. */
  given_back: z.boolean(),
  approved_by: z.nullable(z.string()),
  block: z.nullable(z.number()),
  /** What went wrong last, in words; empty where nothing did. */
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
  /** In whole units, as digits with a point. */
  amount,
  /** Left out for the coin of the chain. */
  token: z.optional(address),
})
export type WalletTransfer = z.infer<typeof walletTransferSchema>

export const walletCallSchema = z.strictObject({
  chain,
  contract: address,
  /** `name(type,...)` */
  function: functionName,
  args,
  /** Of the chain's coin, that goes along. */
  amount: z.optional(amount),
})
export type WalletCall = z.infer<typeof walletCallSchema>

export const walletReadSchema = z.strictObject({
  chain,
  contract: address,
  function: functionName,
  args,
  /** Types of what it returns. */
  returns: z.array(z.string().check(z.maxLength(200))).check(z.minLength(1), z.maxLength(20)),
})
export type WalletRead = z.infer<typeof walletReadSchema>

/** Paid: signed, and sent as far as its state says. Waiting: for a person, under the id of an approval. */
export const paymentAnswerSchema = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('paid'), payment: paymentViewSchema }),
  z.strictObject({
    state: z.literal('waiting'),
    approval_id: z.string(),
    because: z.array(z.string()),
    /** Left out where this request made the approval; else an equal payment waits already, and one leaves for both. */
    joined: z.optional(z.string()),
  }),
])
export type PaymentAnswer = z.infer<typeof paymentAnswerSchema>

export const simulationSchema = z.strictObject({
  /** A sentence each. */
  would: z.array(z.string()),
  counted_usd: z.number(),
  /** Why a person would be asked first; empty if none would. */
  asks_a_person: z.array(z.string()),
})

/** What an owner does with a payment that does not land: the same at a higher fee, or nothing in its place. */
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
  /** Why nothing is signed; null while payments go on. */
  stopped: z.nullable(z.string()),
  open: z.number(),
  approve_above_usd: z.number(),
  agents: z.array(spentSchema),
})
export type WalletLimits = z.infer<typeof walletLimitsSchema>

export const resumedWalletSchema = z.strictObject({
  ...walletLimitsSchema.shape,
  /** Why nothing was signed until now; null where nothing had stopped it. */
  was_stopped: z.nullable(z.string()),
})
export type ResumedWallet = z.infer<typeof resumedWalletSchema>

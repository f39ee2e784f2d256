import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { chainNames } from '@flotilla/protocol/wallet-api'
import * as z from 'zod'
import { usdOfMicro } from './amounts.ts'
import type { Assessed } from './assess-payment.ts'
import { moreThan } from './follow-payments.ts'
import { effectsColumn, effectsText } from './intent-table.ts'
import { isSameAddress } from '../chain/address-key.ts'
import type { PaymentAsked, Signer } from './sign-payment.ts'

/**
 * How much the value may exceed what a person was shown, in percent, for approvals of earlier releases, which do not
 * hold the fee's raw amount.
 */
const valueDriftPercent = 2
/** How many times the shown fee may be paid, because fees rise within hours; all limits still apply. */
const feeTimesMax = 3

const rawColumn = z.string().transform((text) => BigInt(text))

const orderSchema = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('transfer'),
    asset: z.string().nullable(),
    to: z.string(),
    raw: rawColumn,
  }),
  z.strictObject({
    do: z.literal('call'),
    contract: z.string(),
    call: z.strictObject({ function: z.string(), args: z.array(z.unknown()) }),
    raw: rawColumn,
  }),
])

/** The data that an approval is bound to. */
export const approvedPaymentSchema = z.strictObject({
  agent_id: z.string(),
  chain: z.enum(chainNames),
  key: z.string(),
  run_id: z.string(),
  from: z.string(),
  order: orderSchema,
  charged_micro_usd: z.number(),
  /** Null, like `does`, in approvals of earlier releases; amount and fee are then judged as one amount. */
  fee_shown: z.strictObject({ micro_usd: z.number(), raw: rawColumn }).nullable().default(null),
  does: z.string().nullable().default(null),
  effects: effectsColumn,
  payees: z.array(z.string()).default([]),
  /** The rule of config/policy.yaml that asks; null if only the wallet asks. */
  policy_rule: z.string().nullable().default(null),
  summary: z.string(),
  lines: z.array(z.string()),
  fee: z.string(),
})

export type ApprovedPayment = z.output<typeof approvedPaymentSchema>

/** The arguments of the approval that a person sees. Pure. */
export function approvalArgs(
  payment: PaymentAsked,
  assessed: Assessed,
  policyRule: string | null = null,
): JsonObject {
  const { order } = assessed
  const raw = String(order.raw)
  return {
    agent_id: payment.agentId,
    chain: payment.chain,
    key: payment.key,
    run_id: payment.runId ?? '',
    from: payment.signer.address,
    order:
      order.do === 'transfer'
        ? { do: order.do, asset: order.asset, to: order.to, raw }
        : {
            do: order.do,
            contract: order.contract,
            // The arguments of the call came as JSON.
            call: { function: order.call.function, args: order.call.args as JsonObject[] },
            raw,
          },
    charged_micro_usd: assessed.chargedMicroUsd,
    fee_shown: { micro_usd: assessed.feeMicroUsd, raw: String(assessed.plan.feeMaxRaw) },
    does: assessed.plan.does,
    effects: effectsText(assessed.effects),
    payees: [...assessed.payees],
    ...(policyRule === null ? {} : { policy_rule: policyRule }),
    summary: assessed.summary,
    lines: [...assessed.lines, `This payment needs an approval because ${assessed.reasons.join(', and ')}.`],
    fee: assessed.feeLine,
  }
}

/** The Problem `conflict` for a payment that differs from what was shown. Pure. */
export function notAsShown(detail: string): Problem {
  return new Problem('conflict', {
    detail: `the payment differs from the one that was shown, so nothing was signed: ${detail}`,
    repair: 'Let the agent request the payment again, and check what is shown then.',
  })
}

/**
 * Judges the raw amount of each asset and the raw fee, because a price that moves changes nothing of what leaves. The
 * limits in dollars are applied again when the payment is signed. A higher fee does not allow a higher amount.
 * Problem `conflict`. Pure.
 */
export function requireAsShown(shown: ApprovedPayment, now: Assessed, signer: Signer): void {
  const refuse = (detail: string): never => {
    throw notAsShown(detail)
  }
  if (signer.address !== shown.from) refuse(`the payment would leave from ${signer.address}`)
  const { charged_micro_usd: charged, fee_shown: fee, effects } = shown
  // Rounded up, because each amount is counted in whole millionths.
  if (fee === null && now.chargedMicroUsd > Math.ceil((charged * (100 + valueDriftPercent)) / 100)) {
    refuse(
      `the payment with its fee counts for ${usdOfMicro(now.chargedMicroUsd)} USD, and ${usdOfMicro(charged)} USD were shown`,
    )
  }
  if (fee !== null && now.plan.feeMaxRaw > fee.raw * BigInt(feeTimesMax)) {
    refuse(
      `the fee is at most ${now.plan.feeMaxRaw} base units of the coin (${usdOfMicro(now.feeMicroUsd)} USD), which is more than ${feeTimesMax} times the ${fee.raw} (${usdOfMicro(fee.micro_usd)} USD) that were shown`,
    )
  }
  if (effects !== null && now.effects !== null) {
    const more = moreThan(effects, now.effects)
    if (more !== null) refuse(more)
  } else if (effects !== now.effects)
    refuse('the payment can no longer be simulated, or could not be simulated before')
  const other = now.payees.find((payee) => !shown.payees.some((one) => isSameAddress(one, payee)))
  if (other !== undefined) refuse(`${other} may receive something from the payment, and was not shown`)
}

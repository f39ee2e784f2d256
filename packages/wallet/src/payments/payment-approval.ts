import type { JsonObject } from '@flotilla/protocol/json-value'
import type { PaymentView } from '@flotilla/protocol/wallet-payments'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { ApprovalKind } from '@flotilla/work/approvals'
import type { Kernel } from '@flotilla/identity/kernel'
import type { CheckEffect } from '@flotilla/identity/policy'
import { keepingRefusals } from '@flotilla/foundation/storage'
import { approvedPaymentSchema, notAsShown, requireAsShown } from './approved-payment.ts'
import type { AssessPayment } from './assess-payment.ts'
import type { FindRepeats } from './find-repeats.ts'
import type { IntentTable } from './intent-table.ts'
import { viewOf } from './payment-view.ts'
import { contractOf, paymentEffect } from './payment-effect.ts'
import type { PaymentAsked, Signer, SignPayment } from './sign-payment.ts'
import type { WatchSigners } from './watch-signers.ts'

interface Deps extends Pick<Kernel, 'database' | 'clock'> {
  readonly table: IntentTable
  readonly assess: AssessPayment
  readonly signing: SignPayment
  readonly watch: Pick<WatchSigners, 'check'>
  readonly signerOf: (agentId: string, chain: ChainName) => Signer
  readonly repeatsOf: FindRepeats
  readonly checkEffect: CheckEffect
  /** Runs work with a time limit, outside the agent's call limit, so that no agent can block a confirmed payment. */
  readonly inTime: <T>(gone: AbortSignal, work: (signal: AbortSignal) => Promise<T>) => Promise<T>
  readonly sent: (payment: PaymentView, signal: AbortSignal) => Promise<PaymentView>
}

/** Returns payments as a kind of approval: what a person sees, and the signature after the person confirms. */
export function createPaymentApproval({ table, signing, inTime, sent, ...deps }: Deps): ApprovalKind {
  /** Assesses a confirmed payment again, because chain and prices have moved, then signs and sends it. */
  async function carryOut(args: JsonObject, approvedBy: string, requireInTime: () => void): Promise<string> {
    const shown = approvedPaymentSchema.parse(args)
    const { agent_id: agentId, chain, key, run_id: runId, order } = shown
    const contract = contractOf(order)
    signing.requireMay({ agentId, chain, contract })
    const signer = deps.signerOf(agentId, chain)
    return inTime(new AbortController().signal, async (signal) => {
      await deps.watch.check(chain, signer.address, signal)
      const assessed = await deps.assess({ chain, from: signer.address, order }, signal)
      requireAsShown(shown, assessed, signer)
      const { chargedMicroUsd, payees, plan } = assessed
      const effect = paymentEffect({ chain, order, chargedMicroUsd, payees, does: plan.does })
      deps.checkEffect.again({ agentId, runId }, effect)
      const payment: PaymentAsked = { key, agentId, runId, chain, signer, contract, approvedBy }
      const intent = keepingRefusals(deps.database, () => {
        const signedBefore = table.findByKey(key)
        if (signedBefore !== null) return signedBefore
        // The requests took time: the approval may have expired, and the agent's address may have changed.
        requireInTime()
        if (deps.signerOf(agentId, chain).address !== signer.address)
          throw notAsShown(`the address ${signer.address} may no longer pay`)
        return signing.sign(payment, assessed)
      })
      const { tx_id: txId, state } = await sent(viewOf(intent), signal)
      return signedWords(txId, state)
    })
  }

  return {
    action: (args) => ({ do: 'use-wallet', chain: approvedPaymentSchema.parse(args).chain }),
    describe: (args) => {
      const { agent_id: subject, summary, lines, fee, does, key } = approvedPaymentSchema.parse(args)
      const repeats = does === null ? [] : deps.repeatsOf({ does, key }, deps.clock.now())
      return { subject, summary, consequences: lines, price: fee, repeats }
    },
    carryOut: (person, args, line) =>
      carryOut(args, person.person ?? person.channel, line?.requireInTime ?? (() => {})),
    policyEffect: (args) => {
      const {
        policy_rule: rule,
        charged_micro_usd: chargedMicroUsd,
        ...shown
      } = approvedPaymentSchema.parse(args)
      return rule === null ? null : { details: paymentEffect({ ...shown, chargedMicroUsd }), rule }
    },
    ifCutOff: 'again',
    wasDone: (args) => {
      const intent = table.findByKey(approvedPaymentSchema.parse(args).key)
      return intent === null ? null : signedWords(intent.txId, intent.state)
    },
  }
}

function signedWords(txId: string, state: string): string {
  return `The payment was signed as ${txId} and is ${state}; flotilla wallet history shows how it ends.`
}

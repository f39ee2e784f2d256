import { Problem } from '@flotilla/protocol/problem'
import { chains } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import { paymentApprovalKind } from '@flotilla/protocol/wallet-payments'
import type {
  PaymentAnswer,
  PaymentView,
  WalletCall,
  WalletRead,
  WalletTransfer,
} from '@flotilla/protocol/wallet-payments'
import type { Caller } from '@flotilla/identity/access'
import type { CheckEffect, PolicyDecision } from '@flotilla/identity/policy'
import type { AskApproval } from '@flotilla/work/approvals'
import { createOpenPlaces } from '@flotilla/foundation/intake'
import type { Kernel } from '@flotilla/identity/kernel'
import type { Resumable } from '@flotilla/foundation/storage'
import type { Order, PayingChain } from '../chain/paying-chain.ts'
import { enterPlaces } from '../enter-places.ts'
import { baseUnits, usdOfMicro } from './amounts.ts'
import { approvalArgs } from './approved-payment.ts'
import type { AssessPayment, Assessed } from './assess-payment.ts'
import { paymentEffect } from './payment-effect.ts'
import type { FollowPayments } from './follow-payments.ts'
import type { IntentTable } from './intent-table.ts'
import { viewOf } from './payment-view.ts'
import type { FindRepeats } from './find-repeats.ts'
import { createPaymentApproval } from './payment-approval.ts'
import type { PaymentAsked, Signer, SignPayment } from './sign-payment.ts'
import type { WatchSigners } from './watch-signers.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

/** The time limit of a payment call, in milliseconds. Chain, price sources and broadcast take seconds each. */
const payTimeoutMs = 60_000

type AgentCaller = Extract<Caller, { kind: 'agent' }>

interface Deps extends Pick<Kernel, 'database' | 'guard' | 'clock'> {
  readonly table: IntentTable
  readonly chain: (name: ChainName) => PayingChain
  readonly assess: AssessPayment
  readonly signing: SignPayment
  readonly follow: FollowPayments
  readonly watch: Pick<WatchSigners, 'check'>
  /**
   * Returns the signer of that agent on that chain, with the seed open. Problems `unprocessable`,
   * `no-wallet`, `wallet-locked`.
   */
  readonly signerOf: (agentId: string, chain: ChainName) => Signer
  readonly ask: AskApproval
  readonly checkEffect: CheckEffect
  readonly repeatsOf: FindRepeats
}

export type Pay = ReturnType<typeof createPay>

/**
 * An agent's wallet operations. Problems `denied` with the field, `wallet-stopped`, `bad-request`, `would-fail`,
 * `not-simulated`, `no-price`, `rate-limited`, `unprocessable`, `upstream-failed`.
 */
export function createPay({ guard, table, signing, ...deps }: Deps) {
  const places = createOpenPlaces(agentShareLimits.walletCalls)

  /** Runs work within the limits of concurrent calls to chains and price sources, per agent and in total. */
  async function bounded<T>(
    agentId: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const leave = enterPlaces(places, agentId, 'payments that are being checked')
    return inTime(signal, work).finally(leave)
  }

  async function inTime<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController()
    const done = new AbortController()
    void deps.clock
      .sleep(payTimeoutMs, AbortSignal.any([done.signal, signal]))
      .then(() =>
        late.abort(
          new Problem('upstream-timeout', {
            detail: 'the chain or the price sources did not answer in time',
          }),
        ),
      )
      .catch(() => {})
    try {
      return await work(AbortSignal.any([signal, late.signal]))
    } finally {
      done.abort()
    }
  }

  async function transferOrder(transfer: WalletTransfer, signal: AbortSignal): Promise<Order> {
    const { chain, to, token, amount } = transfer
    const decimals =
      token === undefined ? chains[chain].decimals : (await deps.chain(chain).token(token, signal)).decimals
    const raw = baseUnits(amount, decimals)
    if (raw === 0n) throw new Problem('bad-request', { detail: 'an amount must be greater than 0' })
    return { do: 'transfer', asset: token ?? null, to, raw }
  }

  function callOrder({ chain, contract, function: name, args, amount }: WalletCall): Order {
    return {
      do: 'call',
      contract,
      call: { function: name, args },
      raw: baseUnits(amount ?? '0', chains[chain].decimals),
    }
  }

  /** Signs and sends the payment, or creates an approval for it. */
  async function pay(
    caller: AgentCaller,
    { step, ...request }: PaymentRequest,
    orderOf: (signal: AbortSignal) => Promise<Order>,
  ): Promise<PaymentAnswer> {
    // The key is the agent's own text, so it is scoped to the agent and run.
    const { chain, contract, key, signal: gone } = request
    const { agentId } = caller
    signing.requireMay({ agentId, chain, contract })
    const signer = deps.signerOf(agentId, chain)
    return bounded(agentId, gone, async (signal) => {
      const order = await orderOf(signal)
      await deps.watch.check(chain, signer.address, signal)
      const assessment = await deps.assess({ chain, from: signer.address, order }, signal)
      const { chargedMicroUsd, payees, plan } = assessment
      const effect = paymentEffect({ chain, order, chargedMicroUsd, payees, does: plan.does })
      const decision = deps.checkEffect(caller, effect)
      const assessed = withPolicy(assessment, decision)
      const runId = caller.run?.runId ?? null
      const payment: PaymentAsked = {
        key: `${agentId} ${runId ?? ''} ${key}`,
        agentId,
        runId,
        chain,
        signer,
        contract,
        approvedBy: null,
      }
      const answer = step.settle((): PaymentAnswer => {
        signing.requireWithin(payment, assessed)
        if (assessed.reasons.length === 0)
          return { state: 'paid', payment: viewOf(signing.sign(payment, assessed)) }
        const row = deps.ask(caller, {
          kind: paymentApprovalKind,
          args: approvalArgs(payment, assessed, decision.verdict === 'ask' ? decision.rule : null),
        })
        return {
          state: 'waiting',
          approval_id: row.id,
          because: [...assessed.reasons],
          ...(row.joined ? { joined: joinedWords(row.id) } : {}),
        }
      })
      return answer.state === 'paid' ? { state: 'paid', payment: await sent(answer.payment, signal) } : answer
    })
  }

  async function sent(payment: PaymentView, signal: AbortSignal): Promise<PaymentView> {
    const intent = table.find(payment.id)
    if (intent === null) return payment
    // The payment is signed. If this call is aborted or the broadcast fails, `follow` sends the payment later.
    const after = await deps.follow.send(intent, signal).catch(() => null)
    return viewOf(after ?? intent)
  }

  const kind = createPaymentApproval({ ...deps, table, signing, inTime, sent })

  return {
    kind,
    transfer: async (caller: AgentCaller, transfer: WalletTransfer, request: CallRequest) => {
      guard(caller, { do: 'use-wallet', chain: transfer.chain })
      const contract = transfer.token ?? null
      return pay(caller, { ...request, chain: transfer.chain, contract }, (signal) =>
        transferOrder(transfer, signal),
      )
    },
    execute: async (caller: AgentCaller, call: WalletCall, request: CallRequest) => {
      guard(caller, { do: 'use-wallet', chain: call.chain })
      return pay(caller, { ...request, chain: call.chain, contract: call.contract }, async () =>
        callOrder(call),
      )
    },
    /** Returns the effects of a call without signing it. */
    simulate: async (caller: AgentCaller, call: WalletCall, gone: AbortSignal) => {
      guard(caller, { do: 'use-wallet', chain: call.chain })
      const { agentId } = caller
      signing.requireMay({ agentId, chain: call.chain, contract: call.contract })
      const { address } = deps.signerOf(agentId, call.chain)
      return bounded(agentId, gone, async (signal) => {
        const { lines, feeLine, reasons, chargedMicroUsd } = await deps.assess(
          { chain: call.chain, from: address, order: callOrder(call) },
          signal,
        )
        return {
          would: [...lines, feeLine],
          counted_usd: usdOfMicro(chargedMicroUsd),
          asks_a_person: [...reasons],
        }
      })
    },
    read: async (
      caller: AgentCaller,
      { chain, contract, function: name, args, returns }: WalletRead,
      gone: AbortSignal,
    ) => {
      guard(caller, { do: 'use-wallet', chain, contract })
      return bounded(caller.agentId, gone, async (signal) => ({
        returned: await deps.chain(chain).read(contract, { function: name, args, returns }, signal),
      }))
    },
    own: (caller: AgentCaller, limit: number) => {
      guard(caller, { do: 'act-for-self', agentId: caller.agentId })
      return table.list({ agentId: caller.agentId, limit }).map(viewOf)
    },
  }
}

/** Returns the assessment with the reason of a rule that asks for this payment. Pure. */
function withPolicy(assessed: Assessed, { verdict, rule, reason }: PolicyDecision): Assessed {
  if (verdict !== 'ask') return assessed
  const because = `the rule ${rule ?? ''} of config/policy.yaml asks: ${reason.replace(/\.$/, '')}`
  return { ...assessed, reasons: [...assessed.reasons, because] }
}

interface CallRequest {
  readonly step: Resumable<PaymentAnswer>
  readonly key: string
  readonly signal: AbortSignal
}

interface PaymentRequest extends CallRequest {
  readonly chain: ChainName
  readonly contract: string | null
}

function joinedWords(approvalId: string): string {
  return `You already requested an equal payment, which waits for approval as ${approvalId}. Both requests lead to one payment, not two.`
}

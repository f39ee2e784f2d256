import { Problem } from '@flotilla/protocol/problem'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { Caller, WalletSpend } from '@flotilla/identity/access'
import type { Settings } from '@flotilla/foundation/config'
import type { Kernel } from '@flotilla/identity/kernel'
import type { PayingChain, Place } from '../chain/paying-chain.ts'
import { usdOfMicro } from './amounts.ts'
import type { Assessed } from './assess-payment.ts'
import type { IntentRecord } from './intent-record.ts'
import { nextPollAfter } from './intent-record.ts'
import type { ChargeTable } from './charge-table.ts'
import type { IntentTable } from './intent-table.ts'

/** Maximum number of unfinished payments of one address on one chain; each waits for the one before. */
const openMax = 16
const hourMs = 3600 * 1000
const dayMs = 24 * hourMs

/** The signer of a payment: an agent's address, whose key is available while `use` runs. */
export interface Signer {
  readonly address: string
  withKey<T>(use: (key: Uint8Array) => T): T
}

export interface PaymentAsked {
  readonly key: string
  readonly agentId: string
  readonly runId: string | null
  readonly chain: ChainName
  readonly signer: Signer
  /** The called contract, including a token's for a transfer; null for a transfer of the coin. */
  readonly contract: string | null
  readonly approvedBy: string | null
}

export type SignPayment = ReturnType<typeof createSignPayment>

interface Deps extends Pick<Kernel, 'guard' | 'journal' | 'clock' | 'newId' | 'log'> {
  readonly table: IntentTable
  readonly charges: ChargeTable
  readonly chain: (name: ChainName) => PayingChain
  /** Returns the agent that spawned this agent, or null. */
  readonly makerOf: (agentId: string) => string | null
  readonly settings: () => Settings['wallet']
}

/**
 * Signs payments under these invariants.
 *
 * - W1 Check, charge, nonce, signature and row are one transaction that awaits nothing.
 *
 * - W2 The same key is the same payment; it is signed once.
 *
 * - W3 A nonce is used once. If the chain is ahead of this home's nonces, another signer exists and the wallet
 * stops.
 *
 * - W4 A payment counts against the limits of its agent and of every ancestor, even if they are deleted later.
 */
export function createSignPayment({ table, charges, clock, ...deps }: Deps) {
  /** Returns the agent and its ancestors, nearest first. */
  function chainOf(agentId: string): readonly [string, ...string[]] {
    const makers: string[] = []
    for (let maker = deps.makerOf(agentId); maker !== null; maker = deps.makerOf(maker)) {
      // `boundedRecord` refuses a chain of ancestors that repeats an agent; the loop stops at the repetition.
      if (maker === agentId || makers.includes(maker)) break
      makers.push(maker)
    }
    return [agentId, ...makers]
  }

  /** Returns what an agent and its descendants have spent today (UTC), and how often in the last hour. */
  function spentBy(agentId: string) {
    const now = clock.now()
    return {
      spentTodayUsd: usdOfMicro(charges.chargedSince(agentId, Math.floor(now / dayMs) * dayMs)),
      spendsLastHour: charges.countSince(agentId, now - hourMs),
    }
  }

  function spendOf(
    request: Pick<PaymentAsked, 'agentId' | 'chain' | 'contract'>,
    microUsd: number,
  ): WalletSpend {
    const settings = deps.settings()
    const [, ...makers] = chainOf(request.agentId)
    return {
      do: 'spend-from-wallet',
      chain: request.chain,
      contract: request.contract,
      valueUsd: usdOfMicro(microUsd),
      ...spentBy(request.agentId),
      makers: makers.map((agentId) => ({ agentId, ...spentBy(agentId) })),
      fleet: {
        perTxUsd: settings.spend_limit_per_tx_usd,
        dailyUsd: settings.spend_limit_daily_usd,
        perHour: settings.rate_limit_per_hour,
      },
    }
  }

  /** Checks what can be decided without the chain. Throws Problem `wallet-stopped`, or `denied` with the field. */
  function requireMay(request: Pick<PaymentAsked, 'agentId' | 'chain' | 'contract'>): void {
    deps.guard(agent(request.agentId), {
      ...spendOf(request, 0),
      spentTodayUsd: 0,
      spendsLastHour: 0,
      makers: [],
    })
    requireGoing(table)
  }

  function placeFor({ chain, signer }: PaymentAsked, place: Place): Place {
    if (place.kind !== 'nonce') return place
    const given = table.nextNonce(chain, signer.address)
    if (given !== null && place.nonce > given) {
      const reason = `on ${chain}, ${signer.address} has sent ${place.nonce} transactions, and this mesh knows of ${given}: another program pays from the same seed, or this home is an older copy`
      stopWallet({ ...deps, table, clock }, reason)
      requireGoing(table)
    }
    const ownHighest = table.highestNonce(chain, signer.address)
    const nonce = Math.max(place.nonce, given ?? 0, ownHighest === null ? 0 : ownHighest + 1)
    table.setNextNonce(chain, signer.address, nonce + 1)
    return { kind: 'nonce', nonce }
  }

  return {
    requireMay,
    /** Checks all limits without signing. */
    requireWithin: (request: PaymentAsked, assessed: Assessed): void => {
      deps.guard(agent(request.agentId), spendOf(request, assessed.chargedMicroUsd))
    },
    spentBy,
    /** Signs and stores a payment. Joins the caller's transaction, which must also keep what a refusal wrote. */
    sign: (request: PaymentAsked, assessed: Assessed): IntentRecord => {
      const known = table.findByKey(request.key)
      if (known !== null) return known
      requireGoing(table)
      deps.guard(agent(request.agentId), spendOf(request, assessed.chargedMicroUsd))
      if (table.openOf(request.chain, request.signer.address) >= openMax) {
        throw new Problem('rate-limited', {
          detail: `${openMax} payments from ${request.signer.address} on ${request.chain} are not confirmed yet, the maximum; wait for one, or cancel one with flotilla wallet cancel PAYMENT`,
          retryAfterSeconds: 15,
        })
      }
      const { plan } = assessed
      const place = placeFor(request, plan.place)
      const signed = request.signer.withKey((key) => deps.chain(request.chain).sign(plan, place, key))
      const now = clock.now()
      const intent: IntentRecord = {
        id: deps.newId('pay'),
        key: request.key,
        agentId: request.agentId,
        runId: request.runId,
        approvedBy: request.approvedBy,
        chain: request.chain,
        sender: plan.from,
        recipient: plan.to,
        place,
        txId: signed.id,
        signedBytes: signed.bytes,
        cancelFeeMicroUsd: null,
        words: assessed.summary,
        effects: assessed.effects,
        payees: assessed.payees,
        does: plan.does,
        chargedMicroUsd: assessed.chargedMicroUsd,
        signedAt: now,
        state: 'signed',
        block: null,
        note: '',
        polls: 0,
        nextPollAt: nextPollAfter(now, now),
        endedAt: null,
        givenBackAt: null,
      }
      table.insert(intent)
      charges.add(intent, chainOf(request.agentId))
      for (const payee of assessed.payees) table.knowPayee(request.chain, payee)
      deps.journal.append({
        actor: `agent:${request.agentId}`,
        action: 'wallet.signed',
        subject: intent.id,
        detail: {
          chain: request.chain,
          transaction: intent.txId,
          what: intent.words,
          counted_usd: usdOfMicro(intent.chargedMicroUsd),
          approved_by: request.approvedBy,
          run: request.runId,
        },
      })
      return intent
    },
  }
}

/** Stops signing until the owner resumes the wallet; the first reason is kept. */
export function stopWallet(
  { table, clock, journal, log }: Pick<Deps, 'clock' | 'journal' | 'log'> & { readonly table: IntentTable },
  reason: string,
): void {
  if (table.stopped() !== null) return
  table.stop(reason, clock.now())
  journal.append({ actor: 'system', action: 'wallet.stopped', subject: 'seed', detail: { reason } })
  log.error({ reason }, 'the wallet is stopped; `flotilla wallet resume` continues')
}

/** Throws Problem `wallet-stopped` if the wallet is stopped. */
export function requireGoing(table: IntentTable): void {
  const reason = table.stopped()
  if (reason !== null) throw new Problem('wallet-stopped', { detail: reason })
}

/** Returns the agent as caller: its limits apply, also if another caller carries out the payment. */
function agent(agentId: string): Caller {
  return { kind: 'agent', agentId, token: 'door', run: null }
}

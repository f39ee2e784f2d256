import { Problem } from '@flotilla/protocol/problem'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import { chainNames } from '@flotilla/protocol/wallet-api'
import type { Kernel } from '@flotilla/identity/kernel'
import type { Effects, Fate, PayingChain } from '../chain/paying-chain.ts'
import { hasEnded, neverLanded, nextPollAfter, stateAfter } from './intent-record.ts'
import type { IntentNews, IntentRecord } from './intent-record.ts'
import type { IntentTable } from './intent-table.ts'
import { isSameAddress } from '../chain/address-key.ts'
import { isSameAsset } from './ordered-amounts.ts'
import type { ReplacementTable } from './replacement-table.ts'
import { stopWallet } from './sign-payment.ts'
import type { WatchSigners } from './watch-signers.ts'

/** The interval between two rounds that check payments whose check is due, in milliseconds. */
const beatMs = 1000
/** The maximum number of payments that one poll checks concurrently. */
const batchMax = 32
/** The maximum length of the stored note about a payment's state, in characters. */
const noteMaxChars = 300

export type FollowPayments = ReturnType<typeof createFollowPayments>

/**
 * Follows signed payments until they end.
 *
 * - F1 The bytes of the row are sent, whatever happened before; they may be sent any number of times.
 *
 * - F2 Only the chain's answer about the transaction changes its state; a failed broadcast does not.
 *
 * - F3 The charged amount is refunded for `replaced` and `expired`, all but the fee for `cancelled`, and never
 * otherwise.
 *
 * - F4 All signatures with one nonce are followed and the newest is sent; whichever lands is the payment.
 */
export function createFollowPayments(
  deps: Pick<Kernel, 'database' | 'clock' | 'journal' | 'log'> & {
    readonly table: IntentTable
    readonly replacements: ReplacementTable
    readonly watch: WatchSigners
    readonly chain: (name: ChainName) => PayingChain
  },
) {
  const { table, clock } = deps
  const underWay = new Set<string>()

  /** Stores the news about a payment and returns the payment's current row. */
  function learn({ id, txId }: IntentRecord, { news, note, of = {} }: Learned): IntentRecord | null {
    return deps.database.transaction(() => {
      const before = table.find(id)
      if (before === null || hasEnded(before.state)) return before
      // The payment was signed again during the check; the next poll checks all its signatures.
      if (before.txId !== txId) return before
      const state = news === null ? before.state : stateAfter(before.state, news)
      const now = clock.now()
      const ended = hasEnded(state)
      const after: IntentRecord = {
        ...before,
        ...(ended ? of : {}),
        state,
        block: news?.kind === 'landed' ? news.block : state === 'landed' ? before.block : null,
        note: note.slice(0, noteMaxChars),
        polls: before.polls + 1,
        nextPollAt: nextPollAfter(before.signedAt, now),
        endedAt: ended ? now : null,
        // A cancelled payment still cost the fee of the cancelling transaction.
        chargedMicroUsd:
          state === 'cancelled' ? (of.cancelFeeMicroUsd ?? before.chargedMicroUsd) : before.chargedMicroUsd,
        givenBackAt: neverLanded(state) ? now : null,
      }
      table.update(after)
      if (state !== before.state) recordChange(before, after)
      if (state === 'replaced') {
        stopWallet(
          deps,
          `on ${after.chain}, a transaction that this mesh did not sign has the nonce of payment ${after.id} of ${after.sender}: another program pays from the same seed`,
        )
      }
      if (ended && news?.kind === 'landed') requireAsSimulated(after, news.effects)
      return after
    })
  }

  function recordChange(before: IntentRecord, after: IntentRecord): void {
    deps.journal.append({
      actor: 'system',
      action: `wallet.${after.state}`,
      subject: after.id,
      detail: { agent: after.agentId, transaction: after.txId, before: before.state, block: after.block },
    })
  }

  /** Stops the wallet if a contract did more than its simulation showed, because the contract deceived on purpose. */
  function requireAsSimulated(
    { id, effects, chain, payees, recipient }: IntentRecord,
    done: Effects | null,
  ): void {
    if (effects === null || done === null) return
    const meant = { ...effects, payees: [...effects.payees, ...payees, recipient] }
    const more = moreThan(meant, done)
    if (more !== null) stopWallet(deps, `${id} on ${chain} did more than its simulation showed: ${more}`)
  }

  async function send(intent: IntentRecord, signal: AbortSignal): Promise<IntentRecord | null> {
    try {
      await chainOf(intent).broadcast({ id: intent.txId, bytes: intent.signedBytes }, signal)
    } catch (error) {
      if (signal.aborted) throw error
      return learn(intent, { news: null, note: messageOf(error) }) // F2
    }
    return learn(intent, { news: { kind: 'taken' }, note: '' })
  }

  async function check(intent: IntentRecord, signal: AbortSignal): Promise<void> {
    try {
      const { isUnsent, ...learned } = await newsOf(intent, signal)
      // If the payment must be sent again, the note about its last broadcast error stays until it is sent.
      const after = learn(intent, isUnsent ? { ...learned, note: intent.note } : learned)
      if (isUnsent && after !== null) await send(after, signal)
    } catch (error) {
      if (signal.aborted) throw error
      learn(intent, { news: null, note: messageOf(error) })
    }
  }

  /** Returns the combined news of all signatures of a payment, and whether the newest must be sent. */
  async function newsOf(intent: IntentRecord, signal: AbortSignal) {
    const { sender: from, place } = intent
    const chain = chainOf(intent)
    const fates: Fate[] = []
    for (const of of [intent, ...deps.replacements.supersededBy(intent.id)].map(signatureOf)) {
      const fate = await chain.follow({ from, place, id: of.txId }, signal)
      if (fate.kind === 'landed') return { ...landedNews(fate, of), of, isUnsent: false }
      fates.push(fate)
    }
    const [newest] = fates
    const all = (kind: Fate['kind']): boolean => fates.every((fate) => fate.kind === kind)
    const kinds = ['replaced', 'expired', 'missing'] as const
    const kind = kinds.find(all) ?? 'waiting'
    return { news: { kind }, of: {}, isUnsent: newest?.kind === 'missing', note: '' } as const
  }

  function chainOf({ chain }: IntentRecord): PayingChain {
    const name = chainNames.find((one) => one === chain)
    if (name === undefined)
      throw new Problem('unprocessable', { detail: `this release does not know ${chain}` })
    return deps.chain(name)
  }

  /** Checks each due payment once; a failing one does not delay the others. */
  async function poll(signal: AbortSignal): Promise<number> {
    const due = table.due(clock.now(), batchMax).filter(({ id }) => !underWay.has(id))
    await Promise.all(
      due.map(async (intent) => {
        underWay.add(intent.id)
        try {
          await check(intent, signal)
        } catch (error) {
          if (!signal.aborted) {
            deps.log.error({ intentId: intent.id, err: error }, 'failed to check a payment; retrying')
          }
        } finally {
          underWay.delete(intent.id)
        }
      }),
    )
    return due.length
  }

  return {
    /** Sends a payment for the first time and returns its row. */
    send,
    poll,
    run: async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        const polled = await poll(signal)
        if (!signal.aborted) await deps.watch.poll(signal)
        if (polled < batchMax) await clock.sleep(beatMs, signal).catch(() => {})
      }
    },
  }
}

type Signature = Pick<IntentRecord, 'txId' | 'signedBytes' | 'cancelFeeMicroUsd'>

interface Learned {
  readonly news: IntentNews | null
  readonly note: string
  /** The signature that the news is about; left out if the news is not about a signature. */
  readonly of?: Partial<Signature>
}

function signatureOf({ txId, signedBytes, cancelFeeMicroUsd }: Signature): Signature {
  return { txId, signedBytes, cancelFeeMicroUsd }
}

/** Returns the news of a landed signature. A cancelling transaction ends the payment once it is final. */
function landedNews(
  fate: Extract<Fate, { kind: 'landed' }>,
  of: Signature,
): { readonly news: IntentNews; readonly note: string } {
  if (of.cancelFeeMicroUsd === null) return { news: fate, note: '' }
  if (fate.final) return { news: { kind: 'cancelled' }, note: `transaction ${of.txId} replaced the payment` }
  return {
    news: { kind: 'waiting' },
    note: `transaction ${of.txId} replaced the payment, in block ${fate.block}`,
  }
}

/** How much a payment may lose, in percent of the planned loss, because prices move before its block is made. */
const driftPercent = 102n

/**
 * Returns a description of what left the wallet beyond the plan, or went to an address that the
 * plan lacks; null if no more was moved than planned. Pure.
 */
export function moreThan(planned: Effects, done: Effects): string | null {
  for (const { asset, raw } of done.changes) {
    if (raw >= 0n) continue
    const meant = planned.changes.find((one) => isSameAsset(one.asset, asset))?.raw ?? 0n
    if (raw * 100n < meant * driftPercent)
      return `${-raw} base units of ${asset ?? 'the coin'} left the address, and the simulation showed ${meant < 0n ? -meant : 0n}`
  }
  for (const { asset, spender, raw, unlimited } of done.grants) {
    const meant = planned.grants.find(
      (one) => isSameAddress(one.asset, asset) && isSameAddress(one.spender, spender),
    )
    if (meant === undefined || (!meant.unlimited && (unlimited || raw > meant.raw))) {
      return `${spender} may take ${unlimited ? 'all' : `${raw} base units`} of ${asset}, which the simulation did not show`
    }
  }
  const stranger = done.payees.find((payee) => !planned.payees.some((one) => isSameAddress(one, payee)))
  return stranger === undefined ? null : `${stranger} was paid, which the simulation did not show`
}

function messageOf(error: unknown): string {
  return error instanceof Problem ? (error.detail ?? error.code) : 'internal error; see the log of the mesh'
}

import { Problem } from '@flotilla/protocol/problem'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import { chainNames } from '@flotilla/protocol/wallet-api'
import type { Kernel } from '../../kernel/index.ts'
import type { Effects, PayingChain } from '../chain/paying-chain.ts'
import { hasEnded, neverLanded, nextLookAfter, stateAfter } from './intent-record.ts'
import type { IntentNews, IntentRecord } from './intent-record.ts'
import type { IntentTable } from './intent-table.ts'
import { stopWallet } from './sign-payment.ts'

const beatMs = 1000
/** Looked at in one beat, at once. */
const batchMax = 32
const noteMaxChars = 300

export type FollowPayments = ReturnType<typeof createFollowPayments>

/**
 * Follows what is signed to an end.
 *
 * - F1 What is sent are the bytes of the row, whatever happened before; they may be sent any number of times.
 * - F2 Only what the chain says of the transaction moves it; that sending it was refused says nothing.
 * - F3 What was charged goes back with `replaced` and `expired`, and with nothing else.
 */
export function createFollowPayments(
  deps: Pick<Kernel, 'database' | 'clock' | 'journal' | 'log'> & {
    readonly table: IntentTable
    readonly chain: (name: ChainName) => PayingChain
  },
) {
  const { table, clock } = deps
  const lookedAt = new Set<string>()

  /** The row after the news, as it is by then. */
  function learn(id: string, news: IntentNews | null, note: string): IntentRecord | null {
    return deps.database.transaction(() => {
      const before = table.find(id)
      if (before === null || hasEnded(before.state)) return before
      const state = news === null ? before.state : stateAfter(before.state, news)
      const now = clock.now()
      const ended = hasEnded(state)
      const after: IntentRecord = {
        ...before,
        state,
        block: news?.kind === 'landed' ? news.block : state === 'landed' ? before.block : null,
        note: note.slice(0, noteMaxChars),
        looks: before.looks + 1,
        nextLookAt: nextLookAfter(before.signedAt, now),
        endedAt: ended ? now : null,
        givenBackAt: neverLanded(state) ? now : null,
      }
      table.update(after)
      if (state !== before.state) tell(before, after)
      if (state === 'replaced') {
        stopWallet(
          deps,
          `on ${after.chain}, a transaction that this mesh did not sign took the number of ${after.id} of ${after.sender}: another program pays from the same seed`,
        )
      }
      if (ended && news?.kind === 'landed') requireAsSimulated(after, news.effects)
      return after
    })
  }

  function tell(before: IntentRecord, after: IntentRecord): void {
    deps.journal.append({
      actor: 'system',
      action: `wallet.${after.state}`,
      subject: after.id,
      detail: { agent: after.agentId, transaction: after.txId, before: before.state, block: after.block },
    })
  }

  /** A contract that did more than it showed has shown something else on purpose. */
  function requireAsSimulated({ id, effects, chain }: IntentRecord, done: Effects | null): void {
    const more = effects === null || done === null ? null : moreThan(effects, done)
    if (more !== null) stopWallet(deps, `${id} on ${chain} did more than its simulation showed: ${more}`)
  }

  async function send(intent: IntentRecord, signal: AbortSignal): Promise<IntentRecord | null> {
    try {
      await chainOf(intent).broadcast({ id: intent.txId, bytes: intent.signedBytes }, signal)
    } catch (error) {
      if (signal.aborted) throw error
      return learn(intent.id, null, wordsOf(error)) // F2
    }
    return learn(intent.id, { kind: 'taken' }, '')
  }

  async function look(intent: IntentRecord, signal: AbortSignal): Promise<void> {
    try {
      const fate = await chainOf(intent).follow(
        { from: intent.sender, place: intent.place, id: intent.txId },
        signal,
      )
      // What was wrong with sending it stays until it is sent again.
      const after = learn(intent.id, fate, fate.kind === 'missing' ? intent.note : '')
      if (fate.kind === 'missing' && after !== null) await send(after, signal)
    } catch (error) {
      if (signal.aborted) throw error
      learn(intent.id, null, wordsOf(error))
    }
  }

  function chainOf({ chain }: IntentRecord): PayingChain {
    const name = chainNames.find((one) => one === chain)
    if (name === undefined)
      throw new Problem('unprocessable', { detail: `this release does not know ${chain}` })
    return deps.chain(name)
  }

  /** Each that is due, once; a broken one keeps no other waiting. */
  async function beat(signal: AbortSignal): Promise<number> {
    const due = table.due(clock.now(), batchMax).filter(({ id }) => !lookedAt.has(id))
    await Promise.all(
      due.map(async (intent) => {
        lookedAt.add(intent.id)
        try {
          await look(intent, signal)
        } catch (error) {
          if (!signal.aborted) {
            deps.log.error(
              { intentId: intent.id, err: error },
              'a payment could not be followed; it is looked at again',
            )
          }
        } finally {
          lookedAt.delete(intent.id)
        }
      }),
    )
    return due.length
  }

  return {
    /** Sends it now for the first time; what came of it, as its row says. */
    send,
    beat,
    run: async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        const looked = await beat(signal)
        if (looked < batchMax) await clock.sleep(beatMs, signal).catch(() => {})
      }
    },
  }
}

/** Of what was to leave: prices move between a simulation and its block. */
const driftPercent = 102n

/** What left that was not to leave; null where nothing did. Pure. */
export function moreThan(planned: Effects, done: Effects): string | null {
  for (const { asset, raw } of done.changes) {
    if (raw >= 0n || asset === null) continue
    const meant = planned.changes.find((one) => one.asset?.toLowerCase() === asset.toLowerCase())?.raw ?? 0n
    if (raw * 100n < meant * driftPercent)
      return `${-raw} base units of ${asset} left, and ${meant < 0n ? -meant : 0n} were to leave`
  }
  for (const { asset, spender, raw } of done.grants) {
    const meant = planned.grants.find(
      (one) =>
        one.asset.toLowerCase() === asset.toLowerCase() &&
        one.spender.toLowerCase() === spender.toLowerCase(),
    )
    if (meant === undefined || (!meant.unlimited && raw > meant.raw)) {
      return `${spender} may take ${raw} base units of ${asset}, which it was not to`
    }
  }
  return null
}

function wordsOf(error: unknown): string {
  return error instanceof Problem
    ? (error.detail ?? error.code)
    : 'something failed inside; see the log of the mesh'
}

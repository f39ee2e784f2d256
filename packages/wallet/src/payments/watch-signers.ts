import { Problem } from '@flotilla/protocol/problem'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import { chainNames } from '@flotilla/protocol/wallet-api'
import type { Kernel } from '@flotilla/identity/kernel'
import type { PayingChain } from '../chain/paying-chain.ts'
import type { IntentTable } from './intent-table.ts'
import type { SeenTable } from './seen-table.ts'
import { stopWallet } from './sign-payment.ts'

/** The interval between two checks for foreign transactions of agents' addresses, in milliseconds. */
const pollEveryMs = 5 * 60_000
/** After this time an unfinished check continues, so that a stranger's many small transfers delay payments only. */
const continueEveryMs = 10_000
/** The maximum number of addresses that one poll checks concurrently. */
const batchMax = 4

export type WatchSigners = ReturnType<typeof createWatchSigners>

/**
 * Detects foreign signers on chains without nonces. Before each payment, and every few minutes for each address
 * that has paid, it stops the wallet if the address's key signed something that this home has no row of.
 */
export function createWatchSigners({
  table,
  seen,
  clock,
  ...deps
}: Pick<Kernel, 'database' | 'clock' | 'journal' | 'log'> & {
  readonly table: IntentTable
  readonly seen: SeenTable
  readonly chain: (name: ChainName) => PayingChain
}) {
  /** Returns how many transactions are unchecked. Rejects if the chain fails: a foreign signer may exist then. */
  async function check(name: ChainName, address: string, signal: AbortSignal): Promise<number> {
    const since = seen.seen(name, address)
    const isOwn = (id: string): boolean => seen.isOwn(name, id)
    const found = await deps.chain(name).signedElsewhere(address, { since, isOwn }, signal)
    if (found === null) return 0
    deps.database.transaction(() => {
      // The owner resumed the wallet during the check, so existing signatures are trusted.
      if (since !== null && seen.seen(name, address) === null) return
      const waitMs = found.unchecked === undefined ? pollEveryMs : continueEveryMs
      seen.setSeen(name, address, { seen: found.seen, nextPollAt: clock.now() + waitMs })
      if (found.foreign === null) return
      const reason = `on ${name}, ${address} signed ${found.foreign}, of which this mesh knows nothing: another program pays from the same seed, or this home is an older copy`
      stopWallet({ ...deps, table, clock }, reason)
    })
    return found.unchecked ?? 0
  }

  return {
    /** Checks an address before a payment. Problem `rate-limited` while transactions of the address are unchecked. */
    check: async (name: ChainName, address: string, signal: AbortSignal): Promise<void> => {
      const unchecked = await check(name, address, signal)
      if (unchecked === 0) return
      throw new Problem('rate-limited', {
        detail: `at least ${unchecked} more transactions of ${address} on ${name} have to be checked before anything is signed`,
        repair:
          'Retry later: the mesh continues the check by itself every ten seconds. If it takes too long, the owner can trust the existing transactions with flotilla wallet resume.',
        retryAfterSeconds: 5,
      })
    },
    /** Checks the addresses that are due; a failing chain does not delay the other chains. */
    poll: async (signal: AbortSignal): Promise<void> => {
      if (table.stopped() !== null) return
      await Promise.all(
        seen.due(clock.now(), batchMax).map(async ({ chain, sender }) => {
          const name = chainNames.find((one) => one === chain)
          try {
            seen.putOff(chain, sender, clock.now() + pollEveryMs)
            if (name !== undefined) await check(name, sender, signal)
          } catch (error) {
            if (signal.aborted) return
            deps.log.warn(
              { chain, address: sender, err: error },
              'failed to check the signers of an address; retrying in a few minutes',
            )
          }
        }),
      )
    },
  }
}

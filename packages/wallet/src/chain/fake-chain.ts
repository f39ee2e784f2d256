import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { Chain } from './chain.ts'

/** A chain in memory for tests, with the given balances by address. */
export function createFakeChain(
  name: ChainName,
  holds: ReadonlyMap<string, bigint>,
  failure: () => Error | null = () => null,
): Chain {
  const byAddress = new Map([...holds].map(([address, raw]) => [address.toLowerCase(), raw]))
  return {
    name,
    balances: async (addresses, signal) => {
      signal.throwIfAborted()
      const failed = failure()
      if (failed !== null) throw failed
      return addresses.map((address) => byAddress.get(address.toLowerCase()) ?? 0n)
    },
  }
}

import { Problem } from '@flotilla/protocol/problem'
import type { PriceSource } from './price-source.ts'

/** A price source for tests. `knows` returns `attoUsd` by token, in lower case; null makes the source fail. */
export function createFakePriceSource(
  name: string,
  knows: () => ReadonlyMap<string | null, bigint> | null,
  at: () => number,
): PriceSource {
  return {
    name,
    quote: async ({ token }, signal) => {
      signal.throwIfAborted()
      const known = knows()
      if (known === null)
        throw new Problem('upstream-failed', { detail: `${name} said nothing that is a price` })
      const attoUsd = known.get(token?.toLowerCase() ?? null)
      return attoUsd === undefined ? null : { source: name, attoUsd, at: at() }
    },
  }
}

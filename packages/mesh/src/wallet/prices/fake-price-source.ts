import { Problem } from '@flotilla/protocol/problem'
import type { PriceSource } from './price-source.ts'

/** One that says what it is given, for tests; `attoUsd` by token, in small letters. Null talks nonsense. */
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

import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Log } from '@flotilla/foundation/platform'
import { addressKey } from '../chain/address-key.ts'
import { agreeOnPrice } from './agree-on-price.ts'
import type { PricedAsset, PriceSource, Quote } from './price-source.ts'

/** How long a price is cached, in milliseconds, so that consecutive payments ask each source once. */
const keptMs = 20_000
/** The maximum number of cached prices. */
const keptMax = 200

/** Returns the price of one whole unit in 10^-18 US dollars. Problem `no-price`, whose reason lists the quotes. */
export type PriceOf = (asset: PricedAsset, signal: AbortSignal) => Promise<bigint>

export function createPriceList(deps: {
  readonly sources: () => readonly PriceSource[]
  readonly clock: Clock
  readonly log: Log
}): PriceOf {
  const { clock, log } = deps
  const kept = new Map<string, { readonly at: number; readonly quotes: readonly Quote[] }>()

  async function ask(asset: PricedAsset, signal: AbortSignal): Promise<readonly Quote[]> {
    const key = `${asset.chain} ${asset.token === null ? '' : addressKey(asset.token)}`
    const known = kept.get(key)
    if (known && clock.now() - known.at < keptMs) return known.quotes
    const answers = await Promise.all(
      deps.sources().map((source) =>
        source.quote(asset, signal).catch((error: unknown) => {
          signal.throwIfAborted()
          log.warn(
            { source: source.name, chain: asset.chain, err: error },
            'failed to read a price; using the other sources',
          )
          return null
        }),
      ),
    )
    const quotes = answers.filter((quote) => quote !== null)
    if (kept.size >= keptMax) kept.clear()
    kept.set(key, { at: clock.now(), quotes })
    return quotes
  }

  return async (asset, signal) => {
    const agreed = agreeOnPrice(await ask(asset, signal), clock.now())
    if (agreed.kind === 'agreed') return agreed.attoUsd
    throw new Problem('no-price', {
      detail: `${asset.token ?? `the coin of ${asset.chain}`} has no price: ${agreed.reason}`,
    })
  }
}

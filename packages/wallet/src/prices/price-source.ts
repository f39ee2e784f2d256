import type { ChainName } from '@flotilla/protocol/wallet-api'

/** The asset of a price query: the coin of a chain, or a token by its address. */
export interface PricedAsset {
  readonly chain: ChainName
  readonly token: string | null
}

/** The value of one whole unit by one source. */
export interface Quote {
  readonly source: string
  /** The price of one whole unit, in 10^-18 US dollars. */
  readonly attoUsd: bigint
  /** When the price was valid, in milliseconds since 1970. */
  readonly at: number
}

/**
 * PORT: a source of prices. Resolves to null if the source does not know the asset. Rejects with the signal's
 * reason, or with a Problem if the source fails or answers invalidly; it never guesses and caches nothing.
 */
export interface PriceSource {
  readonly name: string
  quote(asset: PricedAsset, signal: AbortSignal): Promise<Quote | null>
}

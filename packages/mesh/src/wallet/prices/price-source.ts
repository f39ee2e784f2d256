import type { ChainName } from '@flotilla/protocol/wallet-api'

/** What a price is asked of: the coin of a chain, or a token by its address. */
export interface PricedAsset {
  readonly chain: ChainName
  readonly token: string | null
}

/** What one whole unit is worth to somebody. */
export interface Quote {
  readonly source: string
  /** 10^-18 US dollars. */
  readonly attoUsd: bigint
  /** When it was worth that, milliseconds since 1970. */
  readonly at: number
}

/**
 * PORT: somebody who says what things are worth. Null where it does not know the asset. Rejects with the signal's reason, or with
 * a Problem where it cannot be asked or says nothing that makes sense; it never guesses, and keeps nothing.
 */
export interface PriceSource {
  readonly name: string
  quote(asset: PricedAsset, signal: AbortSignal): Promise<Quote | null>
}

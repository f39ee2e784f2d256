import { chains } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { PayingChain } from '../chain/paying-chain.ts'
import { knownTokensOf } from '../known-tokens.ts'
import { microUsdOf } from '../prices/agree-on-price.ts'
import type { PriceOf } from '../prices/asset-prices.ts'
import { usdOfMicro, wholeUnits } from './amounts.ts'
import { isSameAddress } from '../chain/address-key.ts'
import { imitatedBy } from './judge-tokens.ts'

/** An amount of an asset as text, and the value that counts. */
export interface Worth {
  /** The address of the asset; null for the chain's own coin. */
  readonly asset: string | null
  /** The asset's symbol. */
  readonly symbol: string
  readonly words: string
  readonly microUsd: number
}

export interface ValuedOn {
  readonly name: ChainName
  readonly chain: Pick<PayingChain, 'token'>
  readonly priceOf: PriceOf
  /** The owner's names for addresses. */
  readonly ownNames: Readonly<Record<string, string>>
}

/** Returns name and value of an amount; an asset of null is the chain's own coin. Problem `no-price`. */
export async function worthOf(
  on: ValuedOn,
  { asset, raw }: { readonly asset: string | null; readonly raw: bigint },
  signal: AbortSignal,
): Promise<Worth> {
  const { coin, decimals: coinDecimals } = chains[on.name]
  const facts =
    asset === null ? { decimals: coinDecimals, symbol: coin } : await on.chain.token(asset, signal)
  const { decimals } = facts
  const attoUsd = await on.priceOf({ chain: on.name, token: asset }, signal)
  const microUsd = microUsdOf(raw, { decimals, attoUsd })
  // A token can claim any symbol.
  const called = asset === null ? facts.symbol : `of the token ${asset}, which has the symbol ${facts.symbol}`
  const text = `${wholeUnits(raw, decimals)} ${called} (${usdOfMicro(microUsd)} USD)`
  return { asset, symbol: facts.symbol, words: text, microUsd }
}

/** Returns a warning if a token's symbol imitates another symbol; null if it does not. Pure. */
export function imitationBy(
  { name, ownNames }: Pick<ValuedOn, 'name' | 'ownNames'>,
  { token, symbol }: { readonly token: string; readonly symbol: string },
): string | null {
  const names = knownTokensOf(name)
  if (Object.values(names).some((one) => isSameAddress(one, token))) return null
  const imitated = imitatedBy({ address: token, symbol }, { ...names, ...ownNames })
  if (imitated === null) return null
  const known = imitated in ownNames ? 'you know' : 'is known'
  return `the token ${token} with the symbol ${symbol} is not the ${imitated} that ${known}`
}

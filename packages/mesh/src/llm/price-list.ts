import { calcPrice, TieredPrices } from '@pydantic/genai-prices'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { nanoFromUsd, nanoPerUsd } from './money.ts'
import type { TokenUsage } from './usage.ts'

/** What a model costs: bounds to reserve by, and the price of what was used. */
export interface Price {
  /** Dearest price of one token of the prompt, nano-dollars; may be a fraction. */
  readonly inputNanoPerToken: number
  readonly outputNanoPerToken: number
  costNano(usage: TokenUsage): number
}

export interface PricedModel {
  /** `provider/model`. */
  readonly id: string
  readonly provider: string
  readonly model: string
  readonly baseUrl: string | null
  /** Scripted, or on a machine of the owner's. */
  readonly free: boolean
  /** The owner's own price, US dollars per million tokens. */
  readonly price: { readonly input_per_mtok: number; readonly output_per_mtok: number } | null
}

const tokensPerMtok = 1_000_000

export const freePrice: Price = { inputNanoPerToken: 0, outputNanoPerToken: 0, costNano: () => 0 }

/**
 * The owner's price where there is one, else the public list as it was when this release was made. What neither
 * knows is free on a server of this very machine, and elsewhere the Problem `model-unpriced`.
 */
export function priceOf(model: PricedModel, now: number): Price {
  if (model.free) return freePrice
  if (model.price) return ownPrice(model.price)
  const listed = listedPrice(model, now)
  if (listed) return listed
  if (model.baseUrl !== null && isThisMachine(model.baseUrl)) return freePrice
  throw new Problem('model-unpriced', {
    detail: `no price is known for ${model.id}; under models in config/settings.json give "${model.id}" a price { input_per_mtok, output_per_mtok } or declare it local`,
    extra: { model: model.id },
  })
}

function isThisMachine(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : ''
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** Looking a price up is a walk over patterns; prices by time of day change by the hour. */
const rememberedMs = 10 * 60 * 1000

/** `priceOf` with a memory, which is of the very model that was asked for: the catalog makes a new one when it changes. */
export function createPriceList(clock: Clock): (model: PricedModel) => Price {
  const known = new WeakMap<PricedModel, { readonly price: Price; readonly until: number }>()
  return (model) => {
    const now = clock.now()
    const found = known.get(model)
    if (found && found.until > now) return found.price
    const price = priceOf(model, now)
    known.set(model, { price, until: now + rememberedMs })
    return price
  }
}

function ownPrice(price: { input_per_mtok: number; output_per_mtok: number }): Price {
  const inputNanoPerToken = (price.input_per_mtok * nanoPerUsd) / tokensPerMtok
  const outputNanoPerToken = (price.output_per_mtok * nanoPerUsd) / tokensPerMtok
  return {
    inputNanoPerToken,
    outputNanoPerToken,
    costNano: (usage) =>
      Math.ceil(usage.promptTokens * inputNanoPerToken + usage.completionTokens * outputNanoPerToken - 1e-3),
  }
}

function listedPrice(model: PricedModel, now: number): Price | null {
  const timestamp = new Date(now)
  const places = [
    ...(model.baseUrl === null ? [] : [{ providerApiUrl: model.baseUrl }]),
    { providerId: model.provider },
  ]
  for (const place of places) {
    const found = calcPrice({ input_tokens: 1, output_tokens: 1 }, model.model, { ...place, timestamp })
    if (found === null) continue
    const prices = found.model_price
    const inputUsd = dearest(prices, ['input_mtok', 'cache_write_mtok', 'cache_write_1h_mtok'])
    // A model that only reads, as one for embeddings does, has no price for what it never writes.
    const outputUsd = dearest(prices, ['output_mtok']) ?? 0
    if (inputUsd === null) continue
    return {
      inputNanoPerToken: (inputUsd * nanoPerUsd) / tokensPerMtok,
      outputNanoPerToken: (outputUsd * nanoPerUsd) / tokensPerMtok,
      costNano: (usage) => {
        const priced = calcPrice(
          {
            input_tokens: usage.promptTokens,
            cache_read_tokens: Math.min(usage.cachedTokens, usage.promptTokens),
            ...cacheWrites(usage),
            output_tokens: usage.completionTokens,
          },
          model.model,
          { ...place, timestamp },
        )
        return nanoFromUsd(priced?.total_price ?? 0)
      },
    }
  }
  return null
}

/** What is kept for an hour is part of what is written. */
function cacheWrites(usage: TokenUsage): { cache_write_tokens?: number; cache_write_1h_tokens?: number } {
  const { cacheWriteTokens = 0, cacheWriteLongTokens = 0 } = usage
  if (cacheWriteTokens === 0) return {}
  return {
    cache_write_tokens: cacheWriteTokens,
    ...(cacheWriteLongTokens > 0 ? { cache_write_1h_tokens: cacheWriteLongTokens } : {}),
  }
}

/** The highest price that any of the fields reaches, in any tier. */
function dearest(
  prices: Readonly<Record<string, number | TieredPrices | undefined>>,
  fields: string[],
): number | null {
  const found: number[] = []
  for (const field of fields) {
    const price = prices[field]
    if (typeof price === 'number') found.push(price)
    else if (price !== undefined) found.push(price.base, ...price.tiers.map((tier) => tier.price))
  }
  return found.length === 0 ? null : Math.max(...found)
}

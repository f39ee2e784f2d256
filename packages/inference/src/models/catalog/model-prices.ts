import { calcPrice, TieredPrices } from '@pydantic/genai-prices'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { nanoFromUsd, nanoPerUsd } from '../../spending/index.ts'
import type { PromptCache } from '../formats/prompt-cache.ts'
import type { TokenUsage } from '../formats/usage.ts'
import { regionalPriceOf } from './regional-price.ts'

/** The price of a model: bounds for the reservation, and the cost of a usage. */
export interface Price {
  /** The highest price of one prompt token, nano-dollars; may be a fraction. */
  readonly inputNanoPerToken: number
  readonly outputNanoPerToken: number
  /** The fixed price of a call, nano-dollars, independent of its tokens. */
  readonly callNano: number
  costNano(usage: TokenUsage): number
}

export interface PricedModel {
  /** `provider/model`. */
  readonly id: string
  readonly provider: string
  readonly model: string
  readonly baseUrl: string | null
  /** See `free-because.ts`. */
  readonly free: boolean
  /** The owner's own price, US dollars per million tokens. */
  readonly price: OwnPrice | null
  readonly promptCache?: PromptCache
}

interface OwnPrice {
  readonly input_per_mtok: number
  readonly output_per_mtok: number
  /** The price of tokens that the provider reads from its cache; if omitted, the full input price. */
  readonly cached_input_per_mtok?: number | undefined
}

const tokensPerMtok = 1_000_000

export const freePrice: Price = {
  inputNanoPerToken: 0,
  outputNanoPerToken: 0,
  callNano: 0,
  costNano: () => 0,
}

/**
 * Returns the price of a model: zero if the model is free, else the owner's price, else the price in the public list
 * of this release. Throws the Problem `model-unpriced` if none of these exists.
 */
export function priceOf(model: PricedModel, now: number): Price {
  if (model.free) return freePrice
  if (model.price) return ownPrice(model.price, writeFactors(model))
  const listed = listedPrice(model, now)
  if (listed) return listed
  throw new Problem('model-unpriced', {
    detail: `the price of ${model.id} is unknown; set it with flotilla models price ${model.id} --input USD --output USD (per million tokens; 0 for a model of your own that costs nothing), or under Settings, Providers and models`,
    extra: { model: model.id },
  })
}

/** A price look-up walks over patterns, so its result is cached; some list prices change by the hour. */
const rememberedMs = 10 * 60 * 1000

/** Returns `priceOf` with a cache per model object: the catalog makes a new object when a model changes. */
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

/** Price factor of writing to a cache for minutes or for an hour, for providers that charge for it. */
const cacheWriteFactor = 1.25
const cacheWriteLongFactor = 2

/**
 * Returns the price factors of tokens that are written to the cache, for minutes and for an hour; 1 for providers
 * that charge for them as for other input.
 */
function writeFactors({ model, promptCache }: PricedModel): {
  readonly short: number
  readonly long: number
} {
  const mark = promptCache?.by === 'marks' ? promptCache.mark : null
  if (mark === 'prompt_cache_breakpoint') return { short: cacheWriteFactor, long: cacheWriteFactor }
  // Behind a provider that speaks Anthropic's protocol, Claude may have any name.
  const isClaude = /claude/i.test(model) || (promptCache?.by === 'marks' && promptCache.onTools)
  return isClaude ? { short: cacheWriteFactor, long: cacheWriteLongFactor } : { short: 1, long: 1 }
}

function ownPrice(price: OwnPrice, factors: ReturnType<typeof writeFactors>): Price {
  const inputNano = nanoPerToken(price.input_per_mtok)
  const cachedNano = nanoPerToken(price.cached_input_per_mtok ?? price.input_per_mtok)
  const outputNanoPerToken = nanoPerToken(price.output_per_mtok)
  return {
    inputNanoPerToken: Math.max(inputNano * factors.long, cachedNano),
    outputNanoPerToken,
    callNano: 0,
    costNano: (usage) => {
      const { read, written, long } = cacheParts(usage)
      const full =
        usage.promptTokens - read + written * (factors.short - 1) + long * (factors.long - factors.short)
      const input = full * inputNano + read * cachedNano
      return Math.ceil(input + usage.completionTokens * outputNanoPerToken - 1e-3)
    },
  }
}

function nanoPerToken(usdPerMtok: number): number {
  return (usdPerMtok * nanoPerUsd) / tokensPerMtok
}

function listedPrice(model: PricedModel, now: number): Price | null {
  const regional = regionalPriceOf(model.baseUrl, model.model)
  const price = listedAt(model, regional?.listedUrl ?? model.baseUrl, now)
  return price === null || regional === null ? price : times(price, regional.factor)
}

function times(price: Price, factor: number): Price {
  return {
    inputNanoPerToken: price.inputNanoPerToken * factor,
    outputNanoPerToken: price.outputNanoPerToken * factor,
    callNano: price.callNano * factor,
    costNano: (usage) => Math.ceil(price.costNano(usage) * factor - 1e-3),
  }
}

function listedAt(model: PricedModel, url: string | null, now: number): Price | null {
  const timestamp = new Date(now)
  const places = [...(url === null ? [] : [{ providerApiUrl: url }]), { providerId: model.provider }]
  for (const place of places) {
    const found = calcPrice({ input_tokens: 1, output_tokens: 1 }, model.model, { ...place, timestamp })
    if (found === null) continue
    const prices = found.model_price
    const listedUsd = dearest(prices, ['input_mtok', 'cache_write_mtok', 'cache_write_1h_mtok'])
    // A model without output, such as an embedding model, has no output price.
    const outputUsd = dearest(prices, ['output_mtok']) ?? 0
    if (listedUsd === null) continue
    // Amazon and OpenRouter charge for an hour as Anthropic does, but the list has the price for minutes only.
    const isLongUnlisted =
      writeFactors(model).long > cacheWriteFactor &&
      prices['cache_write_mtok'] !== undefined &&
      prices['cache_write_1h_mtok'] === undefined
    const plainUsd = dearest(prices, ['input_mtok']) ?? 0
    const boundUsd = isLongUnlisted ? Math.max(listedUsd, plainUsd * cacheWriteLongFactor) : listedUsd
    const usdOf = (counts: Parameters<typeof calcPrice>[0]) =>
      calcPrice(counts, model.model, { ...place, timestamp })?.total_price ?? 0
    return {
      inputNanoPerToken: (boundUsd * nanoPerUsd) / tokensPerMtok,
      outputNanoPerToken: (outputUsd * nanoPerUsd) / tokensPerMtok,
      callNano: ((dearest(prices, ['requests_kcount']) ?? 0) * nanoPerUsd) / 1000,
      costNano: (usage) => {
        const counts = { input_tokens: usage.promptTokens, output_tokens: usage.completionTokens }
        const { written, long } = cacheParts(usage)
        if (!isLongUnlisted || long === 0) return nanoFromUsd(usdOf({ ...counts, ...cacheCounts(usage) }))
        // Tokens written for an hour count as plain input here, and once more at the price of this prompt's tier.
        const short = cacheCounts({ ...usage, cacheWriteTokens: written - long, cacheWriteLongTokens: 0 })
        const inputUsd = usdOf({ ...counts, output_tokens: 0 })
        const longUsd = (cacheWriteLongFactor - 1) * long * (inputUsd / usage.promptTokens)
        return nanoFromUsd(usdOf({ ...counts, ...short }) + longUsd)
      },
    }
  }
  return null
}

/** Returns the cached parts of the prompt, capped so that together they never exceed the prompt tokens. */
function cacheParts(usage: TokenUsage): { read: number; written: number; long: number } {
  const read = Math.min(usage.cachedTokens, usage.promptTokens)
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.promptTokens - read)
  return { read, written, long: Math.min(usage.cacheWriteLongTokens ?? 0, written) }
}

/** Returns the usage fields of the price library; tokens cached for an hour are also part of the tokens written. */
function cacheCounts(usage: TokenUsage): Record<string, number> {
  const { read, written, long } = cacheParts(usage)
  return {
    cache_read_tokens: read,
    ...(written > 0 ? { cache_write_tokens: written } : {}),
    ...(long > 0 ? { cache_write_1h_tokens: long } : {}),
  }
}

/** Returns the highest price among these fields, in all their tiers; null if no field has a price. */
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

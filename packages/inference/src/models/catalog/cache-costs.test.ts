import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cacheUseOf } from './cache-costs.ts'
import { priceOf } from './model-prices.ts'
import type { Price, PricedModel } from './model-prices.ts'

const now = Date.parse('2026-11-21T12:00:00Z')
const own = { input_per_mtok: 3, output_per_mtok: 15, cached_input_per_mtok: 0.3 }

const modelOf = (id: string, more: Partial<PricedModel> = {}): PricedModel => {
  const [provider = '', ...rest] = id.split('/')
  return { id, provider, model: rest.join('/'), baseUrl: null, free: false, price: null, ...more }
}

const priced: Readonly<Record<string, Price>> = Object.fromEntries(
  [
    modelOf('anthropic/claude-sonnet-4-5'),
    modelOf('anthropic/claude-haiku-4-5'),
    modelOf('openai/gpt-5-mini'),
    modelOf('google/gemini-2.5-pro'),
    modelOf('gateway/claude-sonnet-5', { price: own }),
    modelOf('gateway/large', { price: own }),
    modelOf('gateway/alias', {
      price: own,
      promptCache: {
        by: 'marks',
        mark: 'cache_control',
        takesKey: false,
        onTools: true,
        forAnHour: true,
        minTokens: 1024,
      },
    }),
    modelOf('here/free', { free: true }),
  ].map((model) => [model.id, priceOf(model, now)] as const),
)

/** Generates usages whose cached and written tokens together never exceed the prompt. */
const usages = fc
  .tuple(fc.integer({ min: 1, max: 900_000 }), fc.nat(100_000), fc.nat(100), fc.nat(100), fc.nat(100))
  .map(([promptTokens, completionTokens, readShare, writtenShare, longShare]) => {
    const cachedTokens = Math.floor((promptTokens * readShare) / 100)
    const cacheWriteTokens = Math.floor(((promptTokens - cachedTokens) * writtenShare) / 100)
    const cacheWriteLongTokens = Math.floor((cacheWriteTokens * longShare) / 100)
    return { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, cacheWriteLongTokens }
  })

describe('what a cache did for a call', () => {
  test('reads, writes and savings are priced by the list of the model', () => {
    const price = priced['gateway/claude-sonnet-5'] as Price
    const usage = { promptTokens: 1000, completionTokens: 10, cachedTokens: 800, cacheWriteTokens: 100 }
    // Nano-dollars per token: 3,000 at the full price, 300 read from the cache, 3,750 written to it.
    expect(cacheUseOf(price, usage)).toEqual({
      readTokens: 800,
      writtenTokens: 100,
      readNano: 240_000,
      writtenNano: 375_000,
      savedNano: 800 * 2700 - 100 * 750,
    })
  })

  test('a write that no call has read yet saves less than nothing', () => {
    const usage = { promptTokens: 1000, completionTokens: 10, cachedTokens: 0, cacheWriteTokens: 1000 }
    expect(cacheUseOf(priced['gateway/claude-sonnet-5'] as Price, usage)).toMatchObject({
      savedNano: -750_000,
    })
    const long = { ...usage, cacheWriteLongTokens: 1000 }
    expect(cacheUseOf(priced['gateway/claude-sonnet-5'] as Price, long)).toMatchObject({
      writtenNano: 6_000_000,
      savedNano: -3_000_000,
    })
  })

  test('a call without cached tokens has no use of a cache, and a free model has tokens without costs', () => {
    const price = priced['here/free'] as Price
    expect(cacheUseOf(price, { promptTokens: 9, completionTokens: 9, cachedTokens: 0 })).toBeNull()
    expect(cacheUseOf(price, { promptTokens: 9, completionTokens: 9, cachedTokens: 4 })).toEqual({
      readTokens: 4,
      writtenTokens: 0,
      readNano: 0,
      writtenNano: 0,
      savedNano: 0,
    })
  })

  test('implausible counts never exceed the prompt', () => {
    const usage = { promptTokens: 10, completionTokens: 0, cachedTokens: 8, cacheWriteTokens: 1e9 }
    expect(cacheUseOf(priced['openai/gpt-5-mini'] as Price, usage)).toMatchObject({
      readTokens: 8,
      writtenTokens: 2,
    })
  })

  test('a call is reserved by the dearest price, and its cost and savings together are the price without a cache', () => {
    fc.assert(
      fc.property(usages, (usage) => {
        for (const [id, price] of Object.entries(priced)) {
          const real = price.costNano(usage)
          const reserved =
            usage.promptTokens * price.inputNanoPerToken + usage.completionTokens * price.outputNanoPerToken
          expect(real, id).toBeLessThanOrEqual(Math.ceil(reserved))
          const use = cacheUseOf(price, usage)
          const plain = { ...usage, cachedTokens: 0, cacheWriteTokens: 0, cacheWriteLongTokens: 0 }
          expect(real + (use?.savedNano ?? 0), id).toBe(price.costNano(plain))
          expect((use?.readNano ?? 0) + (use?.writtenNano ?? 0), id).toBeLessThanOrEqual(real + 2)
        }
      }),
    )
  })
})

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { priceOf } from './model-prices.ts'
import type { PricedModel } from './model-prices.ts'

const now = Date.parse('2026-11-21T12:00:00Z')

function aModel(more: Partial<PricedModel> = {}): PricedModel {
  return {
    id: 'openai/gpt-4o-mini',
    provider: 'openai',
    model: 'gpt-4o-mini',
    baseUrl: null,
    free: false,
    price: null,
    ...more,
  }
}

describe('a price', () => {
  test('a price comes from the public list, with cached tokens at their own price', () => {
    const price = priceOf(aModel(), now)
    expect(price).toMatchObject({ inputNanoPerToken: 150, outputNanoPerToken: 600 })
    expect(price.costNano({ promptTokens: 1000, completionTokens: 10, cachedTokens: 0 })).toBe(156_000)
    expect(price.costNano({ promptTokens: 1000, completionTokens: 10, cachedTokens: 1000 })).toBe(81_000)
  })

  test.each([
    ['https://api.openai.com/v1', 'gpt-5.4', 1],
    ['https://eu.api.openai.com/v1', 'gpt-5.4', 1.1],
    ['https://us.api.openai.com/v1', 'gpt-5.5', 1.1],
    ['https://us.api.openai.com/v1', 'gpt-5.1', 1],
    ['https://us.api.openai.com/v1', 'gpt-5-mini', 1],
    ['https://jp.api.openai.com/v1', 'gpt-4o-mini', 1],
    ['https://eu.api.openai.com.other.test/v1', 'gpt-5.4', 1],
  ])('a price at %s of %s is %d times the listed one', (baseUrl, model, factor) => {
    const plain = priceOf(aModel({ model }), now)
    const usage = { promptTokens: 300_000, completionTokens: 1000, cachedTokens: 1000 }
    for (const provider of ['openai', 'own']) {
      // The list knows a server with another name by its address alone.
      if (provider === 'own' && baseUrl.includes('other')) continue
      const price = priceOf(aModel({ provider, model, baseUrl }), now)
      expect(price.costNano(usage)).toBeCloseTo(plain.costNano(usage) * factor, -1)
      expect(price.inputNanoPerToken).toBeCloseTo(plain.inputNanoPerToken * factor)
      expect(price.outputNanoPerToken).toBeCloseTo(plain.outputNanoPerToken * factor)
    }
  })

  test('a price of Together in one country is a quarter more', () => {
    const model = { provider: 'together', model: 'meta-llama/Llama-3.3-70B-Instruct-Turbo' }
    const plain = priceOf(aModel({ ...model, baseUrl: 'https://api.together.xyz/v1' }), now)
    const price = priceOf(aModel({ ...model, baseUrl: 'https://ca-api.together.ai/v1' }), now)
    expect(price.outputNanoPerToken).toBeCloseTo(plain.outputNanoPerToken * 1.25)
  })

  test('a price with tiers is bounded by its most expensive tier', () => {
    const price = priceOf(
      aModel({ id: 'anthropic/claude-sonnet-4-5', provider: 'anthropic', model: 'claude-sonnet-4-5' }),
      now,
    )
    expect(price.outputNanoPerToken).toBe(22_500)
    expect(price.inputNanoPerToken).toBeGreaterThanOrEqual(6000)
  })

  test('a prompt that Amazon keeps for an hour costs twice the input, though the list names no price for it', () => {
    const price = priceOf(
      aModel({
        id: 'bedrock/anthropic.claude-opus-4-5-20251101-v1:0',
        provider: 'bedrock',
        model: 'anthropic.claude-opus-4-5-20251101-v1:0',
      }),
      now,
    )
    const usage = { promptTokens: 1_000_000, completionTokens: 0, cachedTokens: 0 }
    const plain = price.costNano(usage)
    expect(plain).toBeGreaterThan(0)
    expect(price.costNano({ ...usage, cacheWriteTokens: 1_000_000 })).toBeCloseTo(1.25 * plain, -1)
    expect(
      price.costNano({ ...usage, cacheWriteTokens: 1_000_000, cacheWriteLongTokens: 1_000_000 }),
    ).toBeCloseTo(2 * plain, -1)
    expect(
      price.costNano({ ...usage, cacheWriteTokens: 1_000_000, cacheWriteLongTokens: 400_000 }),
    ).toBeCloseTo(1.55 * plain, -1)
    expect(price.inputNanoPerToken * usage.promptTokens).toBeGreaterThanOrEqual(2 * plain)
  })

  test("a price is the owner's where the owner gives one", () => {
    const price = priceOf(aModel({ price: { input_per_mtok: 2, output_per_mtok: 8 } }), now)
    expect(price.costNano({ promptTokens: 3, completionTokens: 2, cachedTokens: 3 })).toBe(22_000)
  })

  test("a cached read costs the owner's cached price, and a cache write its own factor", () => {
    const own = { input_per_mtok: 3, output_per_mtok: 15, cached_input_per_mtok: 0.3 }
    const price = priceOf(aModel({ model: 'claude-sonnet-5', price: own }), now)
    const usage = { promptTokens: 1000, completionTokens: 0, cachedTokens: 800, cacheWriteTokens: 100 }
    // 100 tokens at the full price, 100 cache writes at 1.25 times it, and 800 cache reads at a tenth.
    expect(price.costNano(usage)).toBe(300_000 + 375_000 + 240_000)
    expect(price.inputNanoPerToken).toBe(6000)
    const dearer = priceOf(aModel({ price: { ...own, cached_input_per_mtok: 5 } }), now)
    expect(dearer.inputNanoPerToken).toBe(5000)
  })

  test('a model with an unknown price is rejected, and a free model needs no price', () => {
    expect(() => priceOf(aModel({ id: 'openai/x', model: 'x' }), now)).toThrow(
      'the price of openai/x is unknown',
    )
    expect(
      priceOf(aModel({ model: 'x', free: true }), now).costNano({
        promptTokens: 9,
        completionTokens: 9,
        cachedTokens: 0,
      }),
    ).toBe(0)
  })

  test('a price is never above the bound it is reserved by', () => {
    fc.assert(
      fc.property(
        fc.nat(500_000),
        fc.nat(500_000),
        fc.nat(500_000),
        (promptTokens, completionTokens, cachedTokens) => {
          for (const model of ['gpt-4o-mini', 'gpt-4o', 'gemini-2.5-pro', 'claude-sonnet-4-5']) {
            const provider = model.startsWith('gpt')
              ? 'openai'
              : model.startsWith('gem')
                ? 'google'
                : 'anthropic'
            const price = priceOf(aModel({ provider, model }), now)
            const bound = promptTokens * price.inputNanoPerToken + completionTokens * price.outputNanoPerToken
            expect(price.costNano({ promptTokens, completionTokens, cachedTokens })).toBeLessThanOrEqual(
              Math.ceil(bound),
            )
          }
        },
      ),
      { numRuns: 100 },
    )
  })
})

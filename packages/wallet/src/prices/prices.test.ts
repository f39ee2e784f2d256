import { Problem } from '@flotilla/protocol/problem'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { heedsLesson } from '../../../../tests/verifies.ts'
import type { PinnedFetch } from '../../../egress/src/egress/fetch/pinned-fetch.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { agreeOnPrice, attoUsdOf, microUsdOf } from './agree-on-price.ts'
import { createFakePriceSource } from './fake-price-source.ts'
import { httpPriceSource } from './http-prices.ts'
import { createPriceList } from './asset-prices.ts'
import { describePriceSource } from './price-source.conformance.ts'
import type { PriceSource } from './price-source.ts'

const never = new AbortController().signal
const token = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const dollar = 10n ** 18n
const now = 1_800_000_000_000
const clockAt = () => createManualClock(now)

describePriceSource('the one in memory', () => {
  let knows: ReadonlyMap<string | null, bigint> | null = new Map([[token.toLowerCase(), (3n * dollar) / 2n]])
  return {
    source: createFakePriceSource(
      'fake',
      () => knows,
      () => now,
    ),
    token,
    now,
    talkNonsense: () => {
      knows = null
    },
  }
})

/** Answers each path with a value, and records the requests. */
function served(answer: (path: string) => unknown) {
  const requests: string[] = []
  const fetch: PinnedFetch = async ({ url }, signal) => {
    signal.throwIfAborted()
    requests.push(url.href)
    const text = JSON.stringify(answer(`${url.pathname}${url.search}`))
    return {
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(text)
      })(),
      close: async () => {},
    }
  }
  return { fetch, asked: requests }
}

for (const kind of ['coingecko', 'defillama'] as const) {
  describePriceSource(kind, () => {
    let isNonsense = false
    const known = token.toLowerCase()
    const { fetch } = served((path) => {
      if (isNonsense) return ['nothing']
      const isKnown = path.includes(known)
      return kind === 'coingecko'
        ? isKnown
          ? { [known]: { usd: 1.5, last_updated_at: now / 1000 } }
          : {}
        : { coins: isKnown ? { [`base:${known}`]: { price: 1.5, timestamp: now / 1000 } } : {} }
    })
    return {
      source: httpPriceSource({ kind }, { fetch, clock: clockAt() }),
      token,
      now,
      talkNonsense: () => {
        isNonsense = true
      },
    }
  })
}

test("exchanges are asked only for coins, at the owner's address", async () => {
  const { fetch, asked } = served((path) =>
    path.startsWith('/v2/')
      ? { data: { amount: '2500.5', base: 'ETH', currency: 'USD' } }
      : { error: [], result: { XETHZUSD: { a: ['2500.25', '1', '1.000'] } } },
  )
  const deps = { fetch, clock: clockAt() }
  const coinbase = httpPriceSource({ kind: 'coinbase' }, deps)
  const kraken = httpPriceSource({ kind: 'kraken', url: 'http://127.0.0.1:9' }, deps)
  expect(await coinbase.quote({ chain: 'base', token: null }, never)).toMatchObject({
    attoUsd: 25_005n * 10n ** 17n,
  })
  expect(await kraken.quote({ chain: 'base', token: null }, never)).toMatchObject({
    attoUsd: 250_025n * 10n ** 16n,
  })
  expect(await coinbase.quote({ chain: 'base', token }, never)).toBeNull()
  expect(await kraken.quote({ chain: 'base', token }, never)).toBeNull()
  expect(asked).toEqual([
    'https://api.coinbase.com/v2/prices/ETH-USD/spot',
    'http://127.0.0.1:9/0/public/Ticker?pair=ETHUSD',
  ])
})

describe('prices agree', () => {
  const quote = (source: string, attoUsd: bigint, ageMs = 0) => ({ source, attoUsd, at: now - ageMs })

  test.each([
    ['two within 2 %, the higher of them', [quote('a', 100n), quote('b', 102n)], 102n],
    ['two that are 5 minutes old', [quote('a', 100n, 300_000), quote('b', 100n, 300_000)], 100n],
    ['two beside one that is too old', [quote('a', 100n), quote('b', 100n), quote('c', 900n, 300_001)], 100n],
  ])('prices agree: %s', (_name, quotes, price) => {
    expect(agreeOnPrice(quotes, now)).toMatchObject({ kind: 'agreed', attoUsd: price })
  })

  test.each([
    ['one alone', [quote('a', 100n)]],
    ['none', []],
    ['the same one twice', [quote('a', 100n), quote('a', 100n)]],
    ['two that are more than 2 % apart', [quote('a', 100n), quote('b', 103n)]],
    ['three of which one is apart', [quote('a', 100n), quote('b', 100n), quote('c', 103n)]],
    ['one that is too old', [quote('a', 100n), quote('b', 100n, 300_001)]],
    ['one of the time to come', [quote('a', 100n), quote('b', 100n, -60_001)]],
    ['one of nothing', [quote('a', 0n), quote('b', 0n)]],
  ])('prices do not agree: %s', (_name, quotes) => {
    heedsLesson(18)
    expect(agreeOnPrice(quotes, now).kind).toBe('none')
  })

  test('quotes that differ too much are refused, and the refusal lists who said what', () => {
    const quotes = [quote('a', 15n * 10n ** 17n), quote('b', 5n * 10n ** 16n), quote('c', 1n)]
    expect(agreeOnPrice(quotes, now)).toEqual({
      kind: 'none',
      reason:
        'the prices of the sources differ by more than 2 %: a 1.500000 USD, b 0.050000 USD, c 0.000000 USD',
    })
    expect(agreeOnPrice([quote('a', 1n), quote('b', 1n, 300_001)], now)).toEqual({
      kind: 'none',
      reason:
        'the prices of 2 sources are needed, and usable prices came from a (2 answers, 1 of them older than 5 minutes or from the future)',
    })
    expect(agreeOnPrice([], now)).toEqual({
      kind: 'none',
      reason: 'the prices of 2 sources are needed, and usable prices came from none (0 answers)',
    })
  })
})

describe('a book of prices', () => {
  const coin = { chain: 'base', token: null } as const
  const tokenAt = (at: number) => `0xA${at.toString(16).padStart(39, '0')}`

  /** Two sources that know every asset, and how often the first was asked for each. */
  function aBook(worth: (token: string | null) => bigint = () => dollar) {
    const clock = clockAt()
    const requests: (string | null)[] = []
    const warned: object[] = []
    const sources: PriceSource[] = ['a', 'b'].map((name) => ({
      name,
      quote: async ({ token: one }) => {
        if (name === 'a') requests.push(one)
        return { source: name, attoUsd: worth(one), at: clock.now() }
      },
    }))
    const log = { ...silentLog, warn: (fields: object) => void warned.push(fields) }
    const priceOf = createPriceList({ sources: () => sources, clock, log })
    return { priceOf, clock, asked: requests, warned, sources }
  }

  test('consecutive payments ask each price source once, and again after 20 seconds', async () => {
    const { priceOf, clock, asked } = aBook()
    expect(await priceOf(coin, never)).toBe(dollar)
    await clock.advance(19_999)
    await priceOf(coin, never)
    expect(asked).toHaveLength(1)
    await clock.advance(1)
    await priceOf(coin, never)
    expect(asked).toHaveLength(2)
  })

  test('assets are cached separately, and an address in any letter case is one asset', async () => {
    const { priceOf, asked } = aBook((one) =>
      one === null ? 5n : BigInt(one.startsWith('0x') ? one : token),
    )
    expect(await priceOf(coin, never)).toBe(5n)
    expect(await priceOf({ chain: 'base', token }, never)).toBe(BigInt(token))
    expect(await priceOf({ chain: 'base', token: tokenAt(7) }, never)).toBe(BigInt(tokenAt(7)))
    await priceOf({ chain: 'base', token: token.toLowerCase() }, never)
    expect(asked).toEqual([null, token, tokenAt(7)])
    await priceOf({ chain: 'polygon', token }, never)
    expect(asked).toHaveLength(4)
    // In base 58 letter case is significant.
    const mint = 'So11111111111111111111111111111111111111112'
    for (const one of [mint, mint.toLowerCase()]) {
      await expect(priceOf({ chain: 'solana', token: one }, never)).resolves.toBe(BigInt(token))
    }
    expect(asked).toHaveLength(6)
  })

  test('the price cache is cleared at 200 entries, because an agent can name any number of tokens', async () => {
    const { priceOf, asked } = aBook()
    const ask = (at: number) => priceOf({ chain: 'base', token: tokenAt(at) }, never)
    for (let at = 0; at < 200; at++) await ask(at)
    await ask(0)
    expect(asked).toHaveLength(200)
    await ask(200)
    await ask(0)
    expect(asked).toHaveLength(202)
  })

  test('a failing price source is logged and skipped', async () => {
    const { priceOf, sources, warned, clock } = aBook()
    sources.push(createFakePriceSource('c', () => null, clock.now))
    expect(await priceOf(coin, never)).toBe(dollar)
    expect(warned).toEqual([{ source: 'c', chain: 'base', err: expect.any(Problem) }])
  })

  test('an asset without a price is refused with its name and the reason', async () => {
    const { priceOf, sources } = aBook()
    sources.pop()
    const reason = 'the prices of 2 sources are needed, and usable prices came from a (1 answers)'
    await expect(priceOf(coin, never)).rejects.toMatchObject({
      code: 'no-price',
      detail: `the coin of base has no price: ${reason}`,
    })
    await expect(priceOf({ chain: 'base', token }, never)).rejects.toMatchObject({
      detail: `${token} has no price: ${reason}`,
    })
  })

  test('an aborted price query logs nothing', async () => {
    const { priceOf, sources } = aBook()
    const gone = new AbortController()
    const reason = new Error('the caller has gone')
    sources.push({
      name: 'c',
      quote: async () => {
        gone.abort(reason)
        throw new Error('cut off')
      },
    })
    await expect(priceOf(coin, gone.signal)).rejects.toBe(reason)
  })
})

describe('what things count for', () => {
  test('only decimal digits are accepted as a price', () => {
    expect(['1', '0.000000000000000001', '2500.5', 0.1, 1e-7].map(attoUsdOf)).toEqual([
      dollar,
      1n,
      25_005n * 10n ** 17n,
      100_000_000_000_000_006n,
      100_000_000_000n,
    ])
    // Surplus decimals are cut off, and implausibly large prices are rejected.
    expect(attoUsdOf('0.1234567890123456789')).toBe(123_456_789_012_345_678n)
    expect(attoUsdOf('999999999999999')).toBe(999_999_999_999_999n * dollar)
    expect([1e15, '1000000000000000', 1e21].map(attoUsdOf)).toEqual([null, null, null])
    expect(['', '-1', '1e5', 'NaN', Number.NaN, Number.POSITIVE_INFINITY, -1, 1e20].map(attoUsdOf)).toEqual(
      Array(8).fill(null),
    )
  })

  test('exact values are not rounded, and values are capped at the largest safe integer', () => {
    expect(microUsdOf(5n, { decimals: 0, attoUsd: dollar })).toBe(5_000_000)
    expect(microUsdOf(5n, { decimals: 18, attoUsd: 1n })).toBe(1)
    expect(microUsdOf(0n, { decimals: 18, attoUsd: dollar })).toBe(0)
    expect(microUsdOf(10n ** 60n, { decimals: 0, attoUsd: dollar })).toBe(Number.MAX_SAFE_INTEGER)
  })

  test('values are rounded up by less than a millionth of a dollar', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 24n }),
        fc.nat(36),
        fc.bigInt({ min: 1n, max: 10n ** 24n }),
        (raw, decimals, attoUsd) => {
          const micro = BigInt(microUsdOf(raw, { decimals, attoUsd }))
          fc.pre(micro < BigInt(Number.MAX_SAFE_INTEGER))
          const exact = raw * attoUsd
          const unit = 10n ** BigInt(decimals + 12)
          expect(micro * unit >= exact).toBe(true)
          expect((micro - 1n) * unit < exact || exact === 0n).toBe(true)
        },
      ),
    )
  })
})

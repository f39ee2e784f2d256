import { Problem } from '@flotilla/protocol/problem'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import type { PinnedFetch } from '../../egress/fetch/pinned-fetch.ts'
import { silentLog } from '../../platform/log.ts'
import { agreeOnPrice, attoUsdOf, microUsdOf } from './agree-on-price.ts'
import { createFakePriceSource } from './fake-price-source.ts'
import { httpPriceSource } from './http-prices.ts'
import { createPriceBook } from './price-book.ts'
import { describePriceSource } from './price-source.conformance.ts'

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

/** Answers each path with a value, and keeps what was asked. */
function served(answer: (path: string) => unknown) {
  const asked: string[] = []
  const fetch: PinnedFetch = async ({ url }, signal) => {
    signal.throwIfAborted()
    asked.push(url.href)
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
  return { fetch, asked }
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

test('exchanges are asked of coins alone, at where the owner says', async () => {
  const { fetch, asked } = served((path) =>
    path.startsWith('/v2/')
      ? { data: { amount: '2500.5', base: 'ETH', currency: 'USD' } }
      : { error: [], result: { XETHZUSD: { c: ['2500.25', '1'] } } },
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
  ])('of %s', (_name, quotes, price) => {
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
  ])('not of %s', (_name, quotes) => {
    heedsLesson(18)
    expect(agreeOnPrice(quotes, now).kind).toBe('none')
  })

  test('in a book, which asks each source once for payments in a row, and goes on without one that fails', async () => {
    const clock = clockAt()
    let asked = 0
    const knows = () => {
      asked += 1
      return new Map([[null, dollar]])
    }
    const broken = createFakePriceSource('c', () => null, clock.now)
    const sources = ['a', 'b'].map((name) => createFakePriceSource(name, knows, clock.now))
    const priceOf = createPriceBook({ sources: () => [...sources, broken], clock, log: silentLog })
    const all = [1, 2, 3].map(() => priceOf({ chain: 'base', token: null }, never))
    expect(await Promise.all(all)).toEqual([dollar, dollar, dollar])
    expect(await priceOf({ chain: 'base', token: null }, never)).toBe(dollar)
    await clock.advance(20_000)
    await priceOf({ chain: 'base', token: null }, never)
    expect(asked).toBeLessThanOrEqual(8)
    await expect(priceOf({ chain: 'base', token }, never)).rejects.toBeInstanceOf(Problem)
    await expect(priceOf({ chain: 'base', token }, never)).rejects.toMatchObject({ code: 'no-price' })
  })
})

describe('what things count for', () => {
  test('is read from the digits of a source, and from nothing else', () => {
    expect(['1', '0.000000000000000001', '2500.5', 0.1, 1e-7].map(attoUsdOf)).toEqual([
      dollar,
      1n,
      25_005n * 10n ** 17n,
      100_000_000_000_000_006n,
      100_000_000_000n,
    ])
    expect(['', '-1', '1e5', 'NaN', Number.NaN, Number.POSITIVE_INFINITY, -1, 1e20].map(attoUsdOf)).toEqual(
      Array(8).fill(null),
    )
  })

  test('is never less than it is, by less than a millionth of a dollar', () => {
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

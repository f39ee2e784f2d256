import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { createPinnedFetch } from '../../../egress/src/egress/fetch/pinned-fetch.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { knownTokensOf } from '../known-tokens.ts'
import { httpPriceSource } from './http-prices.ts'
import { createPriceList } from './asset-prices.ts'

/**
 * Whole answers in the form that each platform documents, with digits of our own:
 *
 * - Coinbase: docs.cdp.coinbase.com/coinbase-app/track-apis/prices, "Get Spot Price"
 * - Kraken: docs.kraken.com/api, "Get Ticker Information"
 * - CoinGecko: docs.coingecko.com/reference/simple-price and simple-token-price; a client without a user agent gets
 *   403
 * - DefiLlama: api-docs.defillama.com, "/prices/current/{coins}"
 */
const toldAt = 1_711_356_300
const now = toldAt * 1000 + 40_000
const usdc = knownTokensOf('base')['USDC'] ?? ''
const usdcMint = knownTokensOf('solana')['USDC'] ?? ''
const thin = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'

const tickerOf = (pair: string, asked: string, last: string) =>
  `{"error":[],"result":{"${pair}":{"a":["${asked}","2","2.000"],"b":["3432.60000000","11","11.000"],"c":["${last}","0.02380000"],"v":["4151.39287511","18391.11713268"],"p":["3421.05441","3398.72155"],"t":[8046,33170],"l":["3391.00000","3350.01000"],"h":["3447.99000","3447.99000"],"o":"3401.52000"}}}`

/** Answers by the path and query that a source sends. */
const told: Readonly<Record<string, string>> = {
  '/v2/prices/ETH-USD/spot': '{"data":{"amount":"3432.195","base":"ETH","currency":"USD"}}',
  '/v2/prices/SOL-USD/spot': '{"data":{"amount":"187.52","base":"SOL","currency":"USD"}}',
  '/0/public/Ticker?pair=ETHUSD': tickerOf('XETHZUSD', '3432.61000', '3401.00000'),
  '/0/public/Ticker?pair=USDCUSD': tickerOf('USDCUSD', '0.99990000', '0.97000000'),
  '/0/public/Ticker?pair=SOLUSD': '{"error":["EQuery:Unknown asset pair"]}',
  '/api/v3/simple/price?ids=ethereum&vs_currencies=usd&include_last_updated_at=true&precision=full': `{"ethereum":{"usd":3432.1958731048,"last_updated_at":${toldAt}}}`,
  [`/api/v3/simple/token_price/base?contract_addresses=${usdc.toLowerCase()}&vs_currencies=usd&include_last_updated_at=true&precision=full`]: `{"${usdc.toLowerCase()}":{"usd":0.999712,"last_updated_at":${toldAt}}}`,
  [`/api/v3/simple/token_price/solana?contract_addresses=${usdcMint}&vs_currencies=usd&include_last_updated_at=true&precision=full`]: `{"${usdcMint}":{"usd":0.9998,"last_updated_at":${toldAt}}}`,
  [`/api/v3/simple/token_price/base?contract_addresses=${thin.toLowerCase()}&vs_currencies=usd&include_last_updated_at=true&precision=full`]:
    '{}',
  [`/prices/current/base:${usdc.toLowerCase()}`]: `{"coins":{"base:${usdc.toLowerCase()}":{"decimals":6,"symbol":"USDC","price":0.99985,"timestamp":${toldAt - 13},"confidence":0.99}}}`,
  [`/prices/current/solana:${usdcMint}`]: `{"coins":{"solana:${usdcMint}":{"decimals":6,"symbol":"USDC","price":0.9999012,"timestamp":${toldAt}}}}`,
  [`/prices/current/base:${thin.toLowerCase()}`]: `{"coins":{"base:${thin.toLowerCase()}":{"decimals":18,"symbol":"THIN","price":41.2,"timestamp":${toldAt},"confidence":0.62}}}`,
}

/** The Age header that a cache on the way sends, seconds; null for none. */
let keptSeconds: string | null = null
let url = ''
const server = createServer((request, reply) =>
  answer(request, (status, text) => {
    reply.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'content-encoding': 'gzip',
      ...(keptSeconds === null ? {} : { age: keptSeconds }),
    })
    reply.end(gzipSync(text))
  }),
)
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => new Promise((resolve) => server.close(resolve)))

function answer({ url: asked = '', headers }: IncomingMessage, say: (status: number, text: string) => void) {
  if (headers['user-agent'] === undefined) {
    const words = 'Please add a descriptive User-Agent to your request.'
    say(403, JSON.stringify({ status: { error_code: 403, error_message: words } }))
  } else say(told[asked] === undefined ? 404 : 200, told[asked] ?? '{"error":"no such page"}')
}

const never = new AbortController().signal
const clock = createManualClock(now)

/** A source that uses the production fetch over HTTP. */
function sourceOf(kind: Parameters<typeof httpPriceSource>[0]['kind']) {
  const fetch = createPinnedFetch({
    resolve: async () => [],
    isAllowed: () => true,
    allowedPorts: [Number(new URL(url).port)],
  })
  return httpPriceSource({ kind, url }, { fetch, clock })
}

const coin = { chain: 'base', token: null } as const
const dollars = (text: string) => BigInt(text.replace('.', '').padEnd(18 + text.indexOf('.'), '0'))

describe('what a platform answers', () => {
  test.each([
    ['coinbase', coin, { price: '3432.195', at: now }],
    ['kraken', coin, { price: '3432.61', at: now }],
    ['kraken', { chain: 'base', token: usdc }, { price: '0.9999', at: now }],
    ['coingecko', { chain: 'base', token: usdc }, { price: '0.999712', at: toldAt * 1000 }],
    ['coingecko', { chain: 'solana', token: usdcMint }, { price: '0.9998', at: toldAt * 1000 }],
    ['defillama', { chain: 'base', token: usdc }, { price: '0.99985', at: (toldAt - 13) * 1000 }],
    ['defillama', { chain: 'solana', token: usdcMint }, { price: '0.9999012', at: toldAt * 1000 }],
  ] as const)('%s, of %j, is a price and its time', async (kind, asset, { price, at }) => {
    const quote = await sourceOf(kind).quote(asset, never)
    expect(quote).toMatchObject({ source: kind, at })
    // A JSON number is a float, which is exact to more than a millionth here.
    const off = (quote?.attoUsd ?? 0n) - dollars(price)
    expect(off < 10n ** 6n && off > -(10n ** 6n)).toBe(true)
  })

  test('a CoinGecko coin price has more digits than people write', async () => {
    const quote = await sourceOf('coingecko').quote(coin, never)
    expect(String(quote?.attoUsd).slice(0, 13)).toBe('3432195873104')
  })

  test.each([
    ['kraken', { chain: 'solana', token: null }],
    ['coingecko', { chain: 'base', token: thin }],
    // DefiLlama's own confidence says that this market is too small.
    ['defillama', { chain: 'base', token: thin }],
  ] as const)('%s has no price for %j if it does not know it', async (kind, asset) => {
    expect(await sourceOf(kind).quote(asset, never)).toBeNull()
  })

  test.each([
    ['7', 7000],
    ['86400', 86_400_000],
    ['soon', 0],
    ['-5', 0],
  ])('a price without a timestamp is as old as its cache age: %s', async (age, ageMs) => {
    keptSeconds = age
    onTestFinished(() => {
      keptSeconds = null
    })
    for (const kind of ['coinbase', 'kraken'] as const)
      expect(await sourceOf(kind).quote(coin, never)).toMatchObject({ at: now - ageMs })
    // A timestamp in the answer is trusted.
    expect(await sourceOf('coingecko').quote(coin, never)).toMatchObject({ at: toldAt * 1000 })
  })

  test('coin and token prices of the platforms agree', async () => {
    const kinds = ['coinbase', 'kraken', 'coingecko', 'defillama'] as const
    const priceOf = createPriceList({ sources: () => kinds.map(sourceOf), clock, log: silentLog })
    expect(await priceOf(coin, never)).toBe(dollars('3432.61'))
    expect(await priceOf({ chain: 'base', token: usdc }, never)).toBe(dollars('0.9999'))
    await expect(priceOf({ chain: 'base', token: thin }, never)).rejects.toMatchObject({ code: 'no-price' })
  })
})

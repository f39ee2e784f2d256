import type { Clock } from '@flotilla/protocol/clock'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { chains } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import * as z from 'zod'
import type { Settings } from '@flotilla/foundation/config'
import { startDeadline } from '@flotilla/egress/egress'
import type { PinnedFetch } from '@flotilla/egress/egress'
import { readJson } from '@flotilla/foundation/intake'
import { productVersion } from '@flotilla/foundation/platform'
import { soldAs } from '../known-tokens.ts'
import { addressKey } from '../chain/address-key.ts'
import { attoUsdOf } from './agree-on-price.ts'
import type { PricedAsset, PriceSource } from './price-source.ts'

/** The time limit for an answer of a price source, in milliseconds. */
const answerTimeoutMs = 5000
/** The maximum size of an answer of a price source, in bytes. */
const replyMaxBytes = 64 * 1024
/** CoinGecko rejects requests without a User-Agent (403). */
const headers = { accept: 'application/json', 'user-agent': `flotilla/${productVersion}` }
/** The minimum confidence of a price from DefiLlama; below it DefiLlama considers the market too small. */
const confidenceMin = 0.9

/** How one kind of price source is queried, and where its answer contains the price. */
interface Dialect {
  readonly url: string
  /** Returns the path below `url`; null for an asset that the source does not list. */
  path(asset: PricedAsset): string | null
  /** Reads the price; null if the source does not know the asset. `at` is in seconds, null for now. */
  read(
    reply: unknown,
    asset: PricedAsset,
  ): { readonly price: string | number; readonly at: number | null } | null
}

/** The names of each chain and coin at each source. Coins of test chains are valued as the real ones. */
const names = {
  ethereum: { coingecko: 'ethereum', coin: 'ethereum', llama: 'ethereum' },
  base: { coingecko: 'base', coin: 'ethereum', llama: 'base' },
  arbitrum: { coingecko: 'arbitrum-one', coin: 'ethereum', llama: 'arbitrum' },
  polygon: { coingecko: 'polygon-pos', coin: 'polygon-ecosystem-token', llama: 'polygon' },
  sepolia: { coingecko: null, coin: 'ethereum', llama: null },
  solana: { coingecko: 'solana', coin: 'solana', llama: 'solana' },
  'solana-devnet': { coingecko: null, coin: 'solana', llama: null },
} as const satisfies Record<ChainName, { coingecko: string | null; coin: string; llama: string | null }>

const amount = z.string().or(z.number())
const coinbaseSchema = z.looseObject({
  data: z.looseObject({ amount, base: z.string(), currency: z.literal('USD') }),
})
const krakenSchema = z.looseObject({
  error: z.array(z.string()),
  result: z.record(z.string(), z.looseObject({ a: z.array(z.string()).min(1) })).optional(),
})
const coingeckoSchema = z.record(
  z.string(),
  z.looseObject({ usd: amount.optional(), last_updated_at: z.number().optional() }),
)
const llamaSchema = z.looseObject({
  coins: z.record(
    z.string(),
    z.looseObject({ price: amount, timestamp: z.number(), confidence: z.number().nullish() }),
  ),
})

const dialects: Readonly<Record<Settings['wallet']['price_sources'][number]['kind'], Dialect>> = {
  coinbase: {
    url: 'https://api.coinbase.com',
    path: (asset) => {
      const name = exchangeName(asset)
      // Coinbase always quotes USDC at one dollar and not at its market price, so Coinbase is not asked about USDC.
      return name === null || name === 'USDC' ? null : `v2/prices/${name}-USD/spot`
    },
    read: (reply, asset) => {
      const { data } = coinbaseSchema.parse(reply)
      return data.base === exchangeName(asset) ? { price: data.amount, at: null } : null
    },
  },
  kraken: {
    url: 'https://api.kraken.com',
    path: (asset) => {
      const name = exchangeName(asset)
      return name === null ? null : `0/public/Ticker?pair=${name}USD`
    },
    read: (reply) => {
      const [pair, ...others] = Object.values(krakenSchema.parse(reply).result ?? {})
      // Kraken's ask price is used, because the last trade of a thin market may be a day old.
      const [price] = pair?.a ?? []
      return price === undefined || others.length > 0 ? null : { price, at: null }
    },
  },
  coingecko: {
    url: 'https://api.coingecko.com',
    path: ({ chain, token }) => {
      const query = 'vs_currencies=usd&include_last_updated_at=true&precision=full'
      if (token === null) return `api/v3/simple/price?ids=${names[chain].coin}&${query}`
      const { coingecko } = names[chain]
      return coingecko === null
        ? null
        : `api/v3/simple/token_price/${coingecko}?contract_addresses=${addressKey(token)}&${query}`
    },
    read: (reply, { chain, token }) => {
      const found = coingeckoSchema.parse(reply)[token === null ? names[chain].coin : addressKey(token)]
      return found?.usd === undefined || found.last_updated_at === undefined
        ? null
        : { price: found.usd, at: found.last_updated_at }
    },
  },
  defillama: {
    url: 'https://coins.llama.fi',
    // DefiLlama is asked only about tokens, because it takes its coin prices from another source.
    path: (asset) => (llamaName(asset) === null ? null : `prices/current/${llamaName(asset)}`),
    read: (reply, asset) => {
      const found = llamaSchema.parse(reply).coins[llamaName(asset) ?? '']
      return found === undefined || (found.confidence ?? 1) < confidenceMin
        ? null
        : { price: found.price, at: found.timestamp }
    },
  },
}

/** Returns the name at exchanges of a coin or well-known token. The other two sources know tokens by address. */
function exchangeName({ chain, token }: PricedAsset): string | null {
  return token === null ? chains[chain].coin : soldAs({ chain, token })
}

function llamaName({ chain, token }: PricedAsset): string | null {
  const { llama } = names[chain]
  return llama === null || token === null ? null : `${llama}:${addressKey(token)}`
}

/** Returns how old a cached answer is, in milliseconds, by its `Age` header (RFC 9111); 0 without the header. */
function keptMs(age: string | undefined): number {
  return /^\d{1,9}$/.test(age ?? '') ? Number(age) * 1000 : 0
}

/** HTTP price sources of the owner's settings, through the egress filter. */
export function httpPriceSource(
  { kind, url }: Settings['wallet']['price_sources'][number],
  { fetch, clock }: { readonly fetch: PinnedFetch; readonly clock: Clock },
): PriceSource {
  const dialect = dialects[kind]

  async function reply(
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly said: unknown; readonly at: number }> {
    const deadline = startDeadline(clock, answerTimeoutMs, signal)
    try {
      const place = new URL(path, url ?? dialect.url)
      const answer = await fetch({ url: place, method: 'GET', headers, body: '' }, deadline.signal)
      try {
        if (answer.status !== 200)
          throw new Problem('upstream-failed', { detail: `${kind} answered ${answer.status}` })
        const chunks: Uint8Array[] = []
        let bytes = 0
        for await (const chunk of answer.body) {
          bytes += chunk.length
          if (bytes > replyMaxBytes)
            throw new Problem('upstream-failed', { detail: `the answer of ${kind} is too long` })
          chunks.push(chunk)
        }
        const body = readJson(Buffer.concat(chunks).toString('utf8'), jsonLimits.serverReply)
        return { said: body, at: clock.now() - keptMs(answer.headers['age']) }
      } finally {
        await answer.close()
      }
    } finally {
      deadline.clear()
    }
  }

  return {
    name: kind,
    quote: async (asset, signal) => {
      const path = dialect.path(asset)
      if (path === null) return null
      try {
        const { said: body, at } = await reply(path, signal)
        const found = dialect.read(body, asset)
        if (found === null) return null
        const attoUsd = attoUsdOf(found.price)
        if (attoUsd === null) throw new Error('the answer contains no price')
        return { source: kind, attoUsd, at: found.at === null ? at : found.at * 1000 }
      } catch (cause) {
        if (cause instanceof Problem || signal.aborted) throw cause
        throw new Problem('upstream-failed', { detail: `the answer of ${kind} contains no price`, cause })
      }
    },
  }
}

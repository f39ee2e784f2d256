import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Anvil } from './anvil.ts'

interface FakeServer {
  readonly url: string
  /** Address as `host:port`, the form that settings use. */
  readonly place: string
  close(): Promise<void>
}

/** Decides an RPC's answer to one request; null passes the request to the chain. */
export type RpcTrick = (question: {
  readonly method: string
  readonly id: unknown
  readonly params: readonly unknown[]
  /** Passes the request to the chain all the same. */
  pass(): Promise<unknown>
}) => Promise<unknown> | null

export interface TrickyRpc extends FakeServer {
  /** Called methods, in order. */
  readonly asked: string[]
  trick: RpcTrick
  /** The method whose whole answer is sent twice. */
  answersTwice: string | null
}

/** Starts a proxy in front of a real chain that falsifies answers as the test configures. */
export async function startTrickyRpc(behind: { readonly url: string }): Promise<TrickyRpc> {
  const pass = async (body: string): Promise<unknown> =>
    (
      await fetch(behind.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    ).json()
  const rpc: Omit<TrickyRpc, keyof FakeServer> & { asked: string[] } = {
    asked: [],
    trick: () => null,
    answersTwice: null,
  }
  const server = await serve(async (request) => {
    const body = await textOf(request)
    const { method, id, params } = JSON.parse(body) as { method: string; id: unknown; params: unknown[] }
    rpc.asked.push(method)
    const told = rpc.trick({ method, id, params, pass: () => pass(body) }) ?? pass(body)
    const json = JSON.stringify(await told)
    return rpc.answersTwice === method ? json + json : json
  })
  return Object.assign(rpc, server)
}

export interface PriceServer extends FakeServer {
  /** US dollars, by price source. */
  says: { coinbase: string; kraken: string; coingecko: number; defillama: number }
  /** Age in seconds of the prices from sources that report one. */
  ageSeconds: number
}

/**
 * Serves the formats of four price sources. The last two price each token; the first three price the coin. `coin`
 * is how the first and the third name it.
 */
export async function startPriceServer(coin = { symbol: 'ETH', name: 'ethereum' }): Promise<PriceServer> {
  const prices: Omit<PriceServer, keyof FakeServer> = {
    says: { coinbase: '1', kraken: '1', coingecko: 1, defillama: 1 },
    ageSeconds: 10,
  }
  const server = await serve(async ({ url = '' }) => {
    const { says } = prices
    const at = Math.floor(Date.now() / 1000) - prices.ageSeconds
    if (url.startsWith('/v2/prices/')) {
      return JSON.stringify({ data: { amount: says.coinbase, base: coin.symbol, currency: 'USD' } })
    }
    if (url.startsWith('/0/public/Ticker')) {
      return JSON.stringify({ error: [], result: { XETHZUSD: { a: [says.kraken, '1', '1.000'] } } })
    }
    const told = { usd: says.coingecko, last_updated_at: at }
    if (url.startsWith('/api/v3/simple/price')) return JSON.stringify({ [coin.name]: told })
    const token = /contract_addresses=(\w+)/.exec(url)?.[1]
    if (token !== undefined) return JSON.stringify({ [token]: told })
    const name = /\/prices\/current\/(.*)$/.exec(url)?.[1] ?? ''
    return JSON.stringify({ coins: { [name]: { price: says.defillama, timestamp: at } } })
  })
  return Object.assign(prices, server)
}

async function serve(answer: (request: IncomingMessage) => Promise<string>): Promise<FakeServer> {
  const server = createServer((request, reply) => {
    answer(request).then(
      (text) => reply.setHeader('content-type', 'application/json').end(text),
      () => reply.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    place: `127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

const bytecode = JSON.parse(
  readFileSync(new URL('contracts/wallet-tests.json', import.meta.url), 'utf8'),
) as Readonly<Record<'Liar' | 'Manies' | 'Router' | 'Singles' | 'Taker' | 'Token', string>>

/** The first account of development chains, which has coins; only tests pay from it. */
export const faucet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

/** Deploys a contract; `words` are its constructor's arguments, encoded. */
export async function deploy(anvil: Anvil, name: keyof typeof bytecode, words = ''): Promise<string> {
  const hash = await sendFrom(anvil, { from: faucet, data: `${bytecode[name]}${words}` })
  const receipt = (await receiptOf(anvil, hash)) as { contractAddress: string }
  return receipt.contractAddress
}

export async function sendFrom(anvil: Anvil, transaction: object): Promise<string> {
  return (await anvil.rpc('eth_sendTransaction', [{ gas: '0x500000', ...transaction }])) as string
}

/** Waits until a transaction is in a block. */
export async function receiptOf(anvil: Anvil, hash: string): Promise<unknown> {
  for (;;) {
    const receipt = await anvil.rpc('eth_getTransactionReceipt', [hash])
    if (receipt !== null) return receipt
    await sleep(20)
  }
}

/** Encodes an argument of 32 bytes: a number, or an address. */
export function word(value: bigint | number | string): string {
  return (typeof value === 'string' ? value.slice(2).toLowerCase() : value.toString(16)).padStart(64, '0')
}

/** Constructor arguments of `Token`: symbol, decimals, fee in percent, and whether it emits no log. */
export function tokenWords(
  symbol: string,
  decimals: number,
  { fee = 0, silent = false }: { readonly fee?: number; readonly silent?: boolean } = {},
): string {
  const text = Buffer.from(symbol).toString('hex').padEnd(64, '0')
  return [word(128), word(decimals), word(fee), word(silent ? 1 : 0), word(symbol.length), text].join('')
}

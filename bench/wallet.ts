import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { solanaChains } from '@flotilla/protocol/wallet-api'
import type { PinnedFetch } from '../packages/egress/src/egress/fetch/pinned-fetch.ts'
import { systemClock } from '../packages/foundation/src/platform/system-clock.ts'
import { aPaymentsHarness, friend, never, sender } from '../packages/testing/src/payments-harness.ts'
import { createFakePayingChain } from '../packages/wallet/src/chain/fake-paying-chain.ts'
import type { Fate, PayingChain } from '../packages/wallet/src/chain/paying-chain.ts'
import { createSolanaChain } from '../packages/wallet/src/solana/solana-chain.ts'
import { rpcMethods } from '../tests/support/solana/rpc-methods.ts'
import type { RpcMethods } from '../tests/support/solana/rpc-methods.ts'
import { aWallet } from '../tests/support/solana/solana-wallet.ts'
import { nativeSvm } from '../tests/support/solana/svm.ts'
import { createTestChain } from '../tests/support/solana/test-chain.ts'
import type { Bench, BenchOptions } from './bench.ts'
import { rotated } from './bench.ts'
import { measureDurableCommits } from './durable-commit.ts'
import { median, pairedRatio } from './statistics.ts'
import { figure, ratio } from './table.ts'

const payments = 60
const followed = 10_000
/** Number of payments of one address that may be open at once. */
const openAtOnce = 10

type Place = NonNullable<NonNullable<Parameters<typeof aPaymentsHarness>[0]>['on']>

interface Contender {
  readonly name: string
  /** Measures one operation, milliseconds. */
  readonly measure: () => Promise<number> | number
}

export const walletBench: Bench = {
  name: 'wallet',
  claim: 'from an order to its bytes being sent, and 10,000 open payments checked and ended',
  defaultRuns: 5,
  run: async ({ runs, folder, progress, signal }: BenchOptions) => {
    const contenders = contendersIn(folder)
    const times = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
    for (let round = 0; round < runs && !signal.aborted; round += 1) {
      progress(`round ${round + 1} of ${runs}`)
      for (const { name, measure } of rotated(contenders, round)) times.get(name)?.push(await measure())
    }
    const base = times.get(floor) ?? []
    return {
      tables: [
        {
          title: 'Payments, the chain and its prices in the same process',
          columns: ['', 'milliseconds each', 'of the floor'],
          rows: [...times].map(([name, taken]) => [
            name,
            figure(median(taken), 3),
            ratio(pairedRatio(taken, base)),
          ]),
          notes: [
            `Sent: all checks, the simulation, the charge, the signature and its row are in the time; the median of ${payments}.`,
            `Ended: the time of all ${followed} by their number; each is asked for and its end written, each in a commit of its own.`,
            ...(solanaPlace() === null ? ['There is no litesvm here: Solana is left out.'] : []),
          ],
        },
      ],
      figures: { milliseconds: Object.fromEntries(times) },
    }
  },
}

const floor = 'one row, durable (bare SQLite)'

function contendersIn(folder: string): readonly Contender[] {
  let files = 0
  const next = () => join(folder, `wallet-${files++}.db`)
  const on = (place: Place, chain: string): Contender[] => [
    { name: `order to bytes sent, ${chain}`, measure: () => sending(place, next()) },
    { name: `open payment checked and ended, ${chain}`, measure: () => ending(place, next()) },
  ]
  const solana = solanaPlace()
  return [
    { name: floor, measure: () => commits(next()) },
    ...on(evmPlace(), 'a chain of numbers'),
    ...(solana === null ? [] : on(solana, 'Solana')),
  ]
}

function commits(folder: string): number {
  mkdirSync(folder)
  return median(measureDurableCommits(folder))
}

function evmPlace(): Place {
  return { chain: createFakePayingChain('base'), sender, friend, key: new Uint8Array(32).fill(1) }
}

/**
 * Solana's own programs in this process, behind the mesh's own RPC client; null if there is no build for this
 * processor.
 */
function solanaPlace(): Place | null {
  if (nativeSvm === null) return null
  const test = createTestChain()
  const [payer, shop] = [aWallet(), aWallet()]
  for (const { bytes } of [payer, shop]) test.svm.airdrop(bytes, 10n ** 14n)
  const methods = { ...rpcMethods(test, solanaChains.solana.genesis), ...landedMethods(payer.address) }
  const fetch: PinnedFetch = async ({ body }) => {
    const { id, method, params } = JSON.parse(body) as {
      id: number
      method: string
      params: unknown[]
    }
    const result = methods[method]?.(params)
    const text = JSON.stringify({ jsonrpc: '2.0', id, result }, (_name, value: unknown) =>
      typeof value === 'bigint' ? Number(value) : value,
    )
    return {
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(text)
      })(),
      close: async () => {},
    }
  }
  const rpc = () => new URL('http://127.0.0.1:9')
  const chain = createSolanaChain({ name: 'solana', rpc, fetch, clock: systemClock, randomBytes })
  return { chain, sender: payer.address, friend: shop.address, key: payer.key }
}

/** Answers of a node where each requested transaction is final and cost the payer one coin. */
function landedMethods(payer: string): RpcMethods {
  const slot = 1_000
  const meta = { err: null, fee: 5_000, preBalances: [20_010_000], postBalances: [10_005_000] }
  const message = { accountKeys: [payer], header: { numRequiredSignatures: 1 } }
  return {
    getSignatureStatuses: () => ({
      context: { slot },
      value: [{ slot, err: null, confirmationStatus: 'finalized' }],
    }),
    getTransaction: () => ({ slot, meta, transaction: { message } }),
  }
}

/** For chains whose server does not report it: every followed payment is final. */
function landing({ chain, ...place }: Place): Place {
  if (chain.name === 'solana') return { ...place, chain }
  const fate: Fate = { kind: 'landed', succeeded: true, block: 1, final: true, effects: null }
  return { ...place, chain: { ...chain, follow: async () => fate } }
}

function harnessAt(place: Place, databasePath: string) {
  const wallet = { spend_limit_daily_usd: 0, approve_above_usd: 1_000_000 }
  return aPaymentsHarness({ databasePath, on: place, wallet })
}

async function sending(place: Place, path: string): Promise<number> {
  let leftAt = 0
  const broadcast: PayingChain['broadcast'] = async (...sent) => {
    leftAt = performance.now()
    return place.chain.broadcast(...sent)
  }
  const { send, poll, database } = harnessAt(
    landing({ ...place, chain: { ...place.chain, broadcast } }),
    path,
  )
  try {
    const taken: number[] = []
    for (let count = 0; count < payments; count++) {
      const startedAt = performance.now()
      await send('0.01')
      taken.push(leftAt - startedAt)
      if (count % openAtOnce === openAtOnce - 1) await poll()
    }
    return median(taken)
  } finally {
    database.close()
  }
}

async function ending(place: Place, path: string): Promise<number> {
  const { send, table, clock, follow, database } = harnessAt(landing(place), path)
  try {
    await send('0.01')
    const [first] = table.list({ agentId: 'scout', limit: 1 })
    if (first === undefined) throw new Error('nothing was signed')
    database.transaction(() => {
      for (let one = 1; one < followed; one++) {
        // The copies have other senders, since one address has only a few open payments.
        table.insert({
          ...first,
          id: `followed_${one}`,
          key: `${one}`,
          txId: `tx ${one}`,
          sender: `sender ${one}`,
        })
      }
    })
    await clock.advance(60_000)
    const startedAt = performance.now()
    let ended = 0
    while (ended < followed) ended += await follow.poll(never)
    return (performance.now() - startedAt) / followed
  } finally {
    database.close()
  }
}

import { describe, expect, test } from 'vitest'
import { encodeCall } from './evm-call.ts'
import { countEffects } from './evm-count.ts'
import type { Ask, Readings, Tried } from './evm-count.ts'
import { transferLog } from './evm-effects.ts'
import { addressesIn } from './evm-measured.ts'

const from = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const router = '0x15d34aaf54267db7d7c367839aaf71a00a2c6a65'
const token = '0x90f79bf6eb2c4f870365e785982e1f101e93b906'
const items = '0x9965507d1a55bcc2695c58ba16fb37d814a0a4ad'
const friend = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc'
const noise = { address: router, topics: [`0x${'1'.repeat(64)}`], data: '0x' }
const addressOf = (at: number) => `0x${(at + 16).toString(16).padStart(40, '1')}`

/** A contract: the sender's balance before and after the call, and the interfaces that the contract supports. */
interface Contract {
  readonly before?: bigint
  readonly after?: bigint | null
  readonly has?: string
}

function readingsOf(contracts: Readonly<Record<string, Contract>>): Readings & { readonly asks: Ask[] } {
  const asks: Ask[] = []
  const read = ({ to, data }: Ask, isAfter: boolean): bigint | null => {
    const contract = contracts[to]
    if (data.startsWith('0x01ffc9a7')) return contract?.has === `0x${data.slice(10, 18)}` ? 1n : 0n
    if (!data.startsWith('0x70a08231') || contract?.before === undefined) return null
    return isAfter && contract.after !== undefined ? contract.after : contract.before
  }
  return {
    asks,
    contractsMax: 30,
    before: async (given) => {
      asks.push(...given)
      return { kind: 'answers', values: given.map((ask) => read(ask, false)) }
    },
    around: async (given) => ({
      kind: 'answers',
      values: given.map((ask) => ({ before: read(ask, false), after: read(ask, true) })),
    }),
  }
}

const route = (args: readonly string[] = []) => ({
  from,
  to: router,
  data: encodeCall({ function: 'route(address[])', args: [args] }).data,
  value: 0n,
})
const count = (contracts: Readonly<Record<string, Contract>>, tried: Partial<Tried> = {}, call = route()) =>
  countEffects(readingsOf(contracts), call, { logs: [noise], touched: [router, token], ...tried })

describe('what a call does to contracts that it uses', () => {
  test('a token that nothing names counts by its balance and is named as unseen', async () => {
    expect(await count({ [token]: { before: 9n, after: 4n } })).toMatchObject({
      effects: { changes: [{ asset: token, raw: -5n }] },
      unseen: [token],
    })
    expect(await count({ [token]: { before: 9n, after: 9n } })).toEqual({
      kind: 'moves',
      effects: { changes: [], payees: [], grants: [] },
      others: [],
    })
  })

  test('a token of which the sender has nothing is not read again', async () => {
    const readings = readingsOf({ [token]: { before: 0n, after: 4n } })
    const told = await countEffects(readings, route(), { logs: [noise], touched: [token] })
    expect(told).toMatchObject({ effects: { changes: [] } })
    expect(readings.asks.filter(({ to }) => to === token)).toHaveLength(1)
  })

  test('a call whose contracts are unknown is named as unseen', async () => {
    expect(await count({}, { touched: null })).toMatchObject({ unseen: [router] })
    expect(await count({}, { touched: null }, { ...route(), data: '0x' })).toMatchObject({ unseen: [router] })
  })

  test('a plain payment of the coin reads the contracts that it starts, and no allowances', async () => {
    const coin = { ...route(), data: '0x', value: 1n }
    expect(await count({ [token]: { before: 9n, after: 4n } }, { logs: [] }, coin)).toMatchObject({
      effects: {
        changes: [
          { asset: null, raw: -1n },
          { asset: token, raw: -5n },
        ],
      },
      unseen: [token],
    })
  })

  test.each([
    ['items in amounts', {}, '0xd9b67a26'],
    ['single items', { before: 1n }, '0x80ac58cd'],
  ])('%s that no log shows are named as unseen', async (_name, contract, has) => {
    const touched = [items]
    expect(await count({ [items]: { ...contract, has } }, { touched })).toMatchObject({ unseen: [items] })
    expect(await count({ [items]: { ...contract, has: '0x36372b07' } }, { touched })).not.toHaveProperty(
      'unseen',
    )
    // The call only names the contracts and does not use them.
    expect(await count({ [items]: { ...contract, has } }, {}, route([items]))).not.toHaveProperty('unseen')
    const topic = (address: string) => `0x${address.slice(2).padStart(64, '0')}`
    const log = {
      address: items,
      topics: [
        transferLog(items, { from, to: friend, raw: 0n }).topics[0]!,
        topic(from),
        topic(friend),
        topic(token),
      ],
      data: '0x',
    }
    expect(await count({ [items]: { ...contract, has } }, { logs: [log], touched })).not.toHaveProperty(
      'unseen',
    )
  })

  test('single items that come in by the logs and not by the balance are named as unseen', async () => {
    const topic = (address: string) => `0x${address.slice(2).padStart(64, '0')}`
    const kind = transferLog(items, { from, to: friend, raw: 0n }).topics[0]!
    const log = { address: items, topics: [kind, topic(friend), topic(from), topic(token)], data: '0x' }
    const tried = { logs: [log], touched: [items] }
    expect(await count({ [items]: { before: 1n, after: 1n, has: '0x80ac58cd' } }, tried)).toMatchObject({
      effects: { changes: [] },
      unseen: [items],
    })
    expect(await count({ [items]: { before: 1n, after: 2n, has: '0x80ac58cd' } }, tried)).not.toHaveProperty(
      'unseen',
    )
  })

  test('a call with more tokens, addresses or contracts than can be read is not assessed', async () => {
    const many = (most: number) => Array.from({ length: most }, (_, at) => addressOf(at))
    const logsOf = (addresses: readonly string[]) =>
      addresses.map((address) => transferLog(address, { from, to: friend, raw: 1n }))
    const unknown = (reason: string) => ({ kind: 'unknown', reason })
    // The called contract counts as one of the tokens, so 23 others are allowed.
    expect(await count({}, { logs: logsOf(many(23)) })).toMatchObject({ kind: 'moves' })
    expect(await count({}, { logs: logsOf(many(24)) })).toEqual(unknown('the call uses more than 24 tokens'))
    expect(addressesIn(route(many(24)))).toHaveLength(24)
    expect(await count({}, {}, route(many(24)))).toMatchObject({ kind: 'moves' })
    expect(await count({}, {}, route(many(25)))).toEqual(unknown('the call names more than 24 addresses'))
    expect(await count({}, { touched: many(29) })).toMatchObject({ kind: 'moves' })
    expect(await count({}, { touched: many(30) })).toEqual(unknown('the call uses more than 30 contracts'))
    const held = (most: number) =>
      Object.fromEntries(many(most).map((address) => [address, { before: 1n }] as const))
    expect(await count(held(24), { touched: many(24) })).toMatchObject({ kind: 'moves' })
    expect(await count(held(25), { touched: many(25) })).toEqual(unknown('the call uses more than 24 tokens'))
  })

  test('readings that an endpoint refuses leave the effects unknown', async () => {
    const refused = { kind: 'unknown', reason: 'busy' } as const
    const readings = readingsOf({ [items]: { has: '0xd9b67a26' } })
    for (const broken of [
      { ...readings, before: async () => refused },
      { ...readings, around: async () => refused },
      {
        ...readings,
        before: async (asks: readonly Ask[]) =>
          asks.some(({ data }) => data.startsWith('0x01ffc9a7')) ? refused : readings.before(asks),
      },
    ]) {
      expect(await countEffects(broken, route(), { logs: [noise], touched: [items] })).toEqual(refused)
    }
  })
})

import { createHash } from 'node:crypto'
import { Problem } from '@flotilla/protocol/problem'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { Effects, Fate, Order, PayingChain, Simulation, TokenFacts } from './paying-chain.ts'

/** Blocks after which a block is final. */
const finalBlocks = 3
const feeMaxRaw = 10n ** 12n
/** Factor of a replacement's fee over the fee before it. */
const raisedTimes = 2n
const addressForm = /^0x[0-9a-fA-F]{40}$/

interface Sent {
  readonly id: string
  readonly from: string
  readonly nonce: number
}

export interface FakePayingChain extends PayingChain {
  /** Mines the pool into a block, then `empty` empty blocks. */
  mine(empty?: number): void
  /** Removes the newest blocks; their transactions return to the pool, or are dropped if `loses` is true. */
  reorganize(blocks: number, loses?: boolean): void
  /** Lands a transaction that another program signed with the key of `from`. */
  sendElsewhere(from: string): void
  /** Ids of the transactions that were broadcast, one for each broadcast. */
  readonly received: readonly string[]
  /** Called on each broadcast. The test calls `take` to accept the bytes, and may throw after that. */
  onBroadcast: (take: () => void) => void
  /** Returns the simulated effects of calls and tokens. */
  simulation: (order: Order) => Simulation
  readonly tokens: Map<string, TokenFacts>
  /** Foreign signatures of each address; null for a chain that detects them by nonces. */
  signedElsewhere: PayingChain['signedElsewhere']
}

/** A chain with nonces in memory, for tests. A block takes the whole pool, and each nonce of a sender once. */
export function createFakePayingChain(name: ChainName): FakePayingChain {
  let blocks: Sent[][] = [[]]
  let pool: Sent[] = []
  const received: string[] = []
  const tokens = new Map<string, TokenFacts>()
  let elsewhere = 0

  const landedBy = (from: string, upTo = blocks.length): Sent[] =>
    blocks.slice(0, Math.max(0, upTo)).flatMap((block) => block.filter((one) => one.from === from))

  function take(sent: Sent): void {
    const isThere = [...blocks.flat(), ...pool].some(({ id }) => id === sent.id)
    // For one nonce, the last transaction offers the higher fee.
    if (!isThere) pool = [...pool.filter((one) => one.from !== sent.from || one.nonce !== sent.nonce), sent]
  }

  function coinMoves(order: Order): Simulation {
    const asset = order.do === 'transfer' ? order.asset : null
    const changes: Effects['changes'] = order.raw === 0n ? [] : [{ asset, raw: -order.raw }]
    return { kind: 'moves', effects: { changes, payees: [], grants: [] } }
  }

  const fake: FakePayingChain = {
    name,
    received,
    tokens,
    onBroadcast: (taken) => taken(),
    simulation: coinMoves,
    mine: (empty = 0) => {
      const block: Sent[] = []
      for (const sent of pool.toSorted((one, other) => one.nonce - other.nonce)) {
        if (
          sent.nonce ===
          landedBy(sent.from).length + block.filter(({ from }) => from === sent.from).length
        ) {
          block.push(sent)
        }
      }
      blocks.push(block, ...Array.from({ length: empty }, () => []))
      pool = pool.filter(({ from, nonce }) => nonce >= landedBy(from).length)
    },
    reorganize: (count, loses = false) => {
      const gone = blocks.slice(-count).flat()
      blocks = blocks.slice(0, -count)
      if (!loses) pool.push(...gone)
    },
    sendElsewhere: (from) => {
      elsewhere += 1
      blocks.push([{ id: `elsewhere ${elsewhere}`, from, nonce: landedBy(from).length }])
      pool = pool.filter((one) => one.from !== from || one.nonce >= landedBy(from).length)
    },
    balances: async (addresses, signal) => {
      signal.throwIfAborted()
      return addresses.map(() => 0n)
    },
    plan: async (from, order, signal) => {
      signal.throwIfAborted()
      const to = order.do === 'call' ? order.contract : (order.asset ?? order.to)
      if (!addressForm.test(to)) throw new Problem('bad-request', { detail: 'that is no address' })
      const nonce = landedBy(from).length + pool.filter((one) => one.from === from).length
      const unsigned = JSON.stringify({
        from,
        order: { ...order, raw: String(order.raw) },
        fee: String(feeMaxRaw),
      })
      return {
        from,
        to,
        unsigned,
        does: JSON.stringify([name, { ...order, raw: String(order.raw) }]).toLowerCase(),
        feeMaxRaw,
        place: { kind: 'nonce', nonce },
        simulation: fake.simulation(order),
        warnings: [],
      }
    },
    sign: ({ from, unsigned }, place, key) => {
      const digest = createHash('sha256')
        .update(JSON.stringify([unsigned, place]))
        .update(key)
        .digest('hex')
      const nonce = place.kind === 'nonce' ? place.nonce : 0
      return { id: `0x${digest}`, bytes: `0x${digest} ${from} ${nonce} ${feeIn(unsigned)}` }
    },
    replacing: async ({ from, bytes, place }, how, signal) => {
      signal.throwIfAborted()
      const feeBeforeRaw = BigInt(bytes.split(' ')[3] ?? 0)
      const fee = feeBeforeRaw * raisedTimes
      const simulation = { kind: 'moves', effects: { changes: [], payees: [], grants: [] } } as const
      const unsigned = JSON.stringify({ from, how, again: bytes, fee: String(fee) })
      return {
        plan: { from, to: from, unsigned, does: unsigned, feeMaxRaw: fee, place, simulation, warnings: [] },
        feeBeforeRaw,
      }
    },
    signedElsewhere: async () => null,
    broadcast: async ({ bytes }, signal) => {
      signal.throwIfAborted()
      const [id = '', from = '', nonce] = bytes.split(' ')
      const sent: Sent = { id, from, nonce: Number(nonce) }
      received.push(sent.id)
      fake.onBroadcast(() => take(sent))
    },
    follow: async ({ from, place, id }, signal): Promise<Fate> => {
      signal.throwIfAborted()
      const block = blocks.findIndex((one) => one.some((sent) => sent.id === id))
      if (block !== -1) {
        const final = blocks.length - 1 - block >= finalBlocks
        return { kind: 'landed', succeeded: true, block, final, effects: null }
      }
      if (pool.some((sent) => sent.id === id)) return { kind: 'waiting' }
      const nonce = place.kind === 'nonce' ? place.nonce : 0
      return landedBy(from, blocks.length - finalBlocks).length > nonce
        ? { kind: 'replaced' }
        : { kind: 'missing' }
    },
    token: async (address, signal) => {
      signal.throwIfAborted()
      const facts = tokens.get(address.toLowerCase())
      if (facts === undefined)
        throw new Problem('bad-request', { detail: `${address} is no contract on ${name}` })
      return facts
    },
    held: async (token, _address, signal) => {
      await fake.token(token, signal)
      return 0n
    },
    read: async (_contract, { returns }, signal) => {
      signal.throwIfAborted()
      return returns.map(() => '0')
    },
  }
  return fake
}

function feeIn(unsigned: string): string {
  return /"fee":"(\d+)"/.exec(unsigned)?.[1] ?? '0'
}

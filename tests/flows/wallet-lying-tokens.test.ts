import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { encodeCall } from '../../packages/wallet/src/chain/evm-call.ts'
import type { Order, PayingChain, Simulation } from '../../packages/wallet/src/chain/paying-chain.ts'
import { anvilProgram, startAnvil } from '../support/anvil.ts'
import type { Anvil } from '../support/anvil.ts'
import { payer, startEvmPayer } from '../support/evm-payer.ts'
import { deploy, faucet, receiptOf, sendFrom, tokenWords, word } from '../support/wallet-fakes.ts'
import type { TrickyRpc } from '../support/wallet-fakes.ts'

const never = new AbortController().signal
const taker = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const had = 1000n

/** Kinds of nodes; each entry lists the RPC methods that the node lacks. */
const nodes = {
  'simulates and lists accesses': [],
  'simulates and traces': ['eth_createAccessList'],
  'only simulates': ['eth_createAccessList', 'debug_traceCall'],
  'traces calls and storage': ['eth_simulateV1'],
  'traces calls only': ['eth_simulateV1', 'prestateTracer'],
} as const
type Node = keyof typeof nodes
const nodeNames = Object.keys(nodes) as Node[]

/** Constructor arguments of `Liar`: what it moves and logs in percent of the ordered amount, and what it forges. */
function liarWords({ moved = 100, logged = 0, forges = 0 }): string {
  return [
    word(128),
    word(moved),
    word(logged),
    word(forges),
    word(3),
    Buffer.from('LIE').toString('hex').padEnd(64, '0'),
  ].join('')
}

/**
 * Contracts whose logs are wrong, on a real chain: each call is planned, then sent, and what was counted is compared
 * with what left.
 */
describe.skipIf(anvilProgram === null)('contracts that lie in their logs', () => {
  let anvil: Anvil
  let rpc: TrickyRpc
  let chain: PayingChain
  let key: Uint8Array
  const tokens: Record<string, string> = {}
  const routers: Record<string, string> = {}
  const single = { honest: '', silent: '' }
  const many = { honest: '', silent: '' }

  beforeAll(async () => {
    anvil = await startAnvil(8453)
    ;({ rpc, chain, key } = await startEvmPayer(anvil))
    await anvil.rpc('anvil_setBalance', [payer, `0x${(10n ** 20n).toString(16)}`])
    await anvil.rpc('anvil_impersonateAccount', [payer])
    const liars = {
      'logs less': { logged: 10 },
      'logs nothing': {},
      'moves more': { moved: 150, logged: 100 },
      'takes a fee on top': { moved: 105, logged: 100 },
      'logs that it came back': { logged: 100, forges: 1 },
      'logs transfers of others': { forges: 2 },
    }
    for (const [name, words] of Object.entries(liars))
      tokens[name] = await deploy(anvil, 'Liar', liarWords(words))
    tokens['takes a fee'] = await deploy(anvil, 'Token', tokenWords('TAX', 6, { fee: 5 }))
    for (const name of ['honest', 'silent'] as const) {
      single[name] = await deploy(anvil, 'Singles', word(name === 'silent' ? 1 : 0))
      many[name] = await deploy(anvil, 'Manies', word(name === 'silent' ? 1 : 0))
    }
    for (const token of Object.values(tokens))
      await send(faucet, call(token, 'mint(address,uint256)', [payer, String(had)]))
    for (const name of Object.keys(tokens)) await aRouter(name, tokens[name]!)
    for (const [kind, of] of [
      ['single', single],
      ['many', many],
    ] as const) {
      for (const name of ['honest', 'silent'] as const) await aRouter(`${name} ${kind}`, of[name])
    }
    for (const contract of Object.values(single)) {
      await send(faucet, call(contract, 'mint(address,uint256)', [payer, '7']))
      await send(payer, call(contract, 'setApprovalForAll(address,bool)', [routers['honest single'], true]))
      await send(payer, call(contract, 'setApprovalForAll(address,bool)', [routers['silent single'], true]))
    }
    for (const contract of Object.values(many)) {
      for (const id of ['7', '8'])
        await send(faucet, call(contract, 'mint(address,uint256,uint256)', [payer, id, '50']))
      await send(payer, call(contract, 'setApprovalForAll(address,bool)', [routers['honest many'], true]))
      await send(payer, call(contract, 'setApprovalForAll(address,bool)', [routers['silent many'], true]))
    }
  }, 120_000)
  afterAll(async () => {
    await rpc?.close()
    await anvil?.close()
  })

  /**
   * Deploys a router that takes tokens of this contract up to the allowance, although its call does not name the
   * contract.
   */
  async function aRouter(name: string, contract: string): Promise<void> {
    const router = await deploy(anvil, 'Router', word(taker))
    routers[name] = router
    await send(faucet, call(router, 'add(address)', [contract]))
    if (name in tokens) await send(payer, call(contract, 'approve(address,uint256)', [router, '600']))
  }

  async function send(from: string, order: Extract<Order, { do: 'call' }>): Promise<void> {
    // Without this wait a snapshot could be taken before the transaction is in a block, and would lose it.
    const hash = await sendFrom(anvil, { from, to: order.contract, data: encodeCall(order.call).data })
    await receiptOf(anvil, hash)
  }

  const call = (contract: string, name: string, args: readonly unknown[] = []) =>
    ({ do: 'call', contract, call: { function: name, args }, raw: 0n }) as const
  const read = async (contract: string, name: string, args: readonly unknown[]) =>
    BigInt(String((await chain.read(contract, { function: name, args, returns: ['uint256'] }, never))[0]))
  const balance = (token: string) => read(token, 'balanceOf(address)', [payer])

  /** Plans the order at that node and sends it. Returns the planned effects, and the amounts that really left. */
  async function played(node: Node, order: Order, measure: () => Promise<bigint>) {
    const lacks: readonly string[] = nodes[node]
    rpc.trick = ({ method, id, params }) => {
      const asked = [method, JSON.stringify(params[2] ?? '')]
      return asked.some((text) => lacks.some((one) => text.includes(one)))
        ? Promise.resolve({ jsonrpc: '2.0', id, error: { code: -32601, message: 'method not found' } })
        : null
    }
    const before = await anvil.rpc('evm_snapshot', [])
    onTestFinished(async () => {
      rpc.trick = () => null
      await anvil.rpc('evm_revert', [before])
    })
    const had0 = await measure()
    const plan = await chain.plan(payer, order, never)
    const signed = chain.sign(plan, plan.place, key)
    await chain.broadcast(signed, never)
    await anvil.rpc('anvil_mine', [])
    const fate = await chain.follow({ from: payer, place: plan.place, id: signed.id }, never)
    expect(fate).toMatchObject({ kind: 'landed', succeeded: true })
    return { simulation: plan.simulation, left: had0 - (await measure()) }
  }

  function countedOf(simulation: Simulation, asset: string): bigint {
    if (simulation.kind !== 'moves') throw new Error(`the call ${simulation.kind}`)
    const change = simulation.effects.changes.find((one) => one.asset === asset.toLowerCase())
    return -(change?.raw ?? 0n)
  }
  const unseenOf = (simulation: Simulation) => (simulation.kind === 'moves' ? (simulation.unseen ?? []) : [])
  const lower = (text: string) => text.toLowerCase()

  const liars = [
    ['logs less', 300n],
    ['logs nothing', 300n],
    ['moves more', 450n],
    ['takes a fee on top', 315n],
    ['logs that it came back', 300n],
    ['logs transfers of others', 300n],
    ['takes a fee', 300n],
  ] as const
  const each = liars.flatMap(([name, leaves]) => nodeNames.map((node) => [name, node, leaves] as const))

  it.each(each)(
    'a transfer of a token that %s counts for what leaves, at a node that %s',
    async (name, node, leaves) => {
      const asset = tokens[name]!
      const order: Order = { do: 'transfer', asset, to: taker, raw: 300n }
      const { simulation, left } = await played(node, order, () => balance(asset))
      expect(left).toBe(leaves)
      expect(countedOf(simulation, asset)).toBe(node === 'traces calls only' ? had : leaves)
      if (node === 'traces calls only') expect(unseenOf(simulation)).toContain(lower(asset))
    },
  )

  it.each(nodeNames)(
    'a token that moves under another name counts for what leaves, at a node that %s',
    async (node) => {
      const asset = tokens['logs nothing']!
      const { simulation, left } = await played(node, call(asset, 'sweep(address)', [taker]), () =>
        balance(asset),
      )
      expect(left).toBe(500n)
      expect(countedOf(simulation, asset)).toBe(node === 'traces calls only' ? had : 500n)
    },
  )

  it.each(each)(
    'a router that hides a token that %s counts for what leaves, or a person is asked, at a node that %s',
    async (name, node, leaves) => {
      const asset = tokens[name]!
      const router = routers[name]!
      const { simulation, left } = await played(node, call(router, 'route(uint256)', ['300']), () =>
        balance(asset),
      )
      expect(left).toBe(leaves)
      if (node === 'traces calls only') expect(countedOf(simulation, asset)).toBe(had)
      else if (node !== 'only simulates') expect(countedOf(simulation, asset)).toBe(leaves)
      if (node === 'only simulates') expect(unseenOf(simulation)).toContain(lower(router))
      else if (name !== 'takes a fee' || node === 'traces calls only')
        expect(unseenOf(simulation)).toContain(lower(asset))
    },
  )

  it.each(nodeNames)(
    'a token hidden one call deeper, and one hidden behind a plain payment of the coin, count at a node that %s',
    async (node) => {
      const asset = tokens['logs nothing']!
      const router = routers['logs nothing']!
      const coin: Order = { do: 'transfer', asset: null, to: router, raw: 1n }
      for (const order of [call(router, 'routeDeep(uint256)', ['300']), coin]) {
        const { simulation, left } = await played(node, order, () => balance(asset))
        expect(left).toBe(300n)
        if (node === 'only simulates') expect(unseenOf(simulation)).toContain(lower(router))
        else
          expect(countedOf(simulation, asset)).toBe(
            node === 'traces calls only' ? 1000n - (order === coin ? 300n : 0n) : 300n,
          )
      }
    },
  )

  const collectibles = ['honest', 'silent'] as const
  const eachCollectible = collectibles.flatMap((name) => nodeNames.map((node) => [name, node] as const))

  it.each(eachCollectible)(
    'a single item of a collection that is %s counts or is asked about, at a node that %s',
    async (name, node) => {
      const asset = single[name]
      const router = routers[`${name} single`]!
      const has = async () => {
        const question = { function: 'ownerOf(uint256)', args: ['7'], returns: ['address'] }
        const [owner] = await chain.read(asset, question, never)
        return lower(String(owner)) === lower(payer) ? 1n : 0n
      }
      for (const order of [
        call(asset, 'transferFrom(address,address,uint256)', [payer, taker, '7']),
        call(router, 'takeSingle(address,uint256)', [asset, '7']),
        call(router, 'takeHidden()'),
        call(router, 'swapSingle(address,uint256,uint256)', [asset, '7', '9']),
      ]) {
        const before = await anvil.rpc('evm_snapshot', [])
        const { simulation, left } = await played(node, order, has)
        expect(left).toBe(1n)
        const isAsked = unseenOf(simulation).some((one) => [lower(asset), lower(router)].includes(one))
        expect(countedOf(simulation, asset) >= 1n || isAsked).toBe(true)
        await anvil.rpc('evm_revert', [before])
      }
    },
  )

  it.each(eachCollectible)(
    'items in amounts of a collection that is %s count by their amounts or are asked about, at a node that %s',
    async (name, node) => {
      const asset = many[name]
      const router = routers[`${name} many`]!
      const both = async () =>
        (await read(asset, 'balanceOf(address,uint256)', [payer, '7'])) +
        (await read(asset, 'balanceOf(address,uint256)', [payer, '8']))
      for (const [order, leaves] of [
        [
          call(asset, 'safeTransferFrom(address,address,uint256,uint256,bytes)', [
            payer,
            taker,
            '7',
            '20',
            '0x',
          ]),
          20n,
        ],
        [
          call(asset, 'safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)', [
            payer,
            taker,
            ['7', '8'],
            ['20', '30'],
            '0x',
          ]),
          50n,
        ],
        [call(router, 'takeManyHidden(uint256)', ['20']), 20n],
      ] as const) {
        const before = await anvil.rpc('evm_snapshot', [])
        const { simulation, left } = await played(node, order, both)
        expect(left).toBe(leaves)
        if (name === 'honest') expect(countedOf(simulation, asset)).toBe(leaves)
        else
          expect(unseenOf(simulation).some((one) => [lower(asset), lower(router)].includes(one))).toBe(true)
        await anvil.rpc('evm_revert', [before])
      }
    },
  )
})

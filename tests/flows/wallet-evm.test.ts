import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { describePayingChain } from '../../packages/wallet/src/chain/paying-chain.conformance.ts'
import type { Order, PayingChain, Place } from '../../packages/wallet/src/chain/paying-chain.ts'
import { anvilProgram, dataFeeOracle, dataFeeRaw, operatorFeeRaw, startAnvil } from '../support/anvil.ts'
import type { Anvil } from '../support/anvil.ts'
import { payer, startEvmPayer } from '../support/evm-payer.ts'
import { deploy, faucet, sendFrom, tokenWords, word } from '../support/wallet-fakes.ts'
import type { TrickyRpc } from '../support/wallet-fakes.ts'

const never = new AbortController().signal
const friend = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const other = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'

/** The production EVM adapter on a real local chain. */
describe.skipIf(anvilProgram === null)('a chain of the EVM on which is paid', () => {
  let anvil: Anvil
  let rpc: TrickyRpc
  let chain: PayingChain
  let key: Uint8Array
  const at = { dollar: '', coin: '', taxed: '', silent: '', taker: '' }

  beforeAll(async () => {
    anvil = await startAnvil(8453)
    ;({ rpc, chain, key } = await startEvmPayer(anvil))
    at.dollar = await deploy(anvil, 'Token', tokenWords('USDX', 6))
    at.coin = await deploy(anvil, 'Token', tokenWords('WETX', 18))
    at.taxed = await deploy(anvil, 'Token', tokenWords('TAXED', 18, { fee: 5 }))
    at.silent = await deploy(anvil, 'Token', tokenWords('MUTE', 6, { silent: true }))
    at.taker = await deploy(anvil, 'Taker')
    await anvil.rpc('anvil_setBalance', [payer, `0x${(10n ** 20n).toString(16)}`])
    for (const token of [at.dollar, at.coin, at.taxed, at.silent]) {
      await called(call(token, 'mint(address,uint256)', [payer, String(10n ** 20n)]), faucet)
    }
  })
  afterAll(async () => {
    await rpc?.close()
    await anvil?.close()
  })

  const call = (contract: string, name: string, args: readonly unknown[]) =>
    ({ do: 'call', contract, call: { function: name, args }, raw: 0n }) as const
  const transfer = (asset: string | null, raw: bigint, to = friend): Order => ({
    do: 'transfer',
    asset,
    to,
    raw,
  })
  const plan = (order: Order) => chain.plan(payer, order, never)
  const effects = async (order: Order) => {
    const { simulation } = await plan(order)
    return simulation.kind === 'moves' ? simulation.effects : simulation
  }
  async function called(order: Extract<Order, { do: 'call' }>, from: string): Promise<void> {
    const { unsigned } = await chain.plan(from, order, never)
    const { data } = JSON.parse(unsigned) as { data: string }
    await sendFrom(anvil, { from, to: order.contract, data })
  }
  const held = async (token: string, whose: string) =>
    BigInt(
      String(
        (
          await chain.read(
            token,
            { function: 'balanceOf(address)', args: [whose], returns: ['uint256'] },
            never,
          )
        )[0],
      ),
    )
  /** Signs at the given nonce or the next one, and sends. */
  async function sent(order: Order, place?: Place) {
    const planned = await plan(order)
    const signed = chain.sign(planned, place ?? planned.place, key)
    await chain.broadcast(signed, never)
    return { ...signed, place: place ?? planned.place }
  }
  const fate = ({ id, place }: { id: string; place: Place }) =>
    chain.follow({ from: payer, place, id }, never)
  const lower = (text: string) => text.toLowerCase()

  describePayingChain('over JSON-RPC', async () => {
    await anvil.rpc('evm_setAutomine', [false])
    onTestFinished(async () => void (await anvil.rpc('evm_setAutomine', [true])))
    return {
      chain,
      payer,
      friend,
      key,
      mine: async () => void (await anvil.rpc('anvil_mine', [])),
      bury: async () => void (await anvil.rpc('anvil_mine', ['0x40'])),
    }
  })

  it('a chain of the EVM reports token metadata, and contracts can be read', async () => {
    expect(await chain.token(at.dollar, never)).toEqual({ decimals: 6, symbol: 'USDX' })
    expect(await chain.token(at.coin, never)).toEqual({ decimals: 18, symbol: 'WETX' })
    await expect(chain.token(friend, never)).rejects.toMatchObject({ code: 'bad-request' })
    const read = { function: 'allowance(address,address)', args: [payer, friend], returns: ['uint256'] }
    expect(await chain.read(at.dollar, read, never)).toEqual(['0'])
    const wrong = { function: 'nothing()', args: [], returns: ['uint256'] }
    await expect(chain.read(at.dollar, wrong, never)).rejects.toMatchObject({ code: 'unprocessable' })
  })

  it('a chain of the EVM on which is paid says what coin and tokens of 6 and 18 decimals would move, and what a token takes on the way', async () => {
    expect(await effects(transfer(null, 5n))).toEqual({
      changes: [{ asset: null, raw: -5n }],
      payees: [lower(friend)],
      grants: [],
    })
    for (const token of [at.dollar, at.coin, at.taxed, at.silent]) {
      expect(await effects(transfer(token, 700n))).toMatchObject({
        changes: [{ asset: lower(token), raw: -700n }],
      })
    }
    const before = await held(at.taxed, friend)
    expect(await fate(await sent(transfer(at.taxed, 1000n)))).toMatchObject({
      kind: 'landed',
      succeeded: true,
    })
    expect((await held(at.taxed, friend)) - before).toBe(950n)
  })

  it('a chain of the EVM on which is paid says who may take what afterwards, by an approval, a permit and several calls in one', async () => {
    const grant = { asset: lower(at.dollar), spender: lower(at.taker), raw: 900n, unlimited: false }
    expect(await effects(call(at.dollar, 'approve(address,uint256)', [at.taker, '900']))).toMatchObject({
      changes: [],
      grants: [grant],
    })
    const permit = 'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)'
    const args = [payer, at.taker, '900', '1', '1', `0x${'11'.repeat(32)}`, `0x${'22'.repeat(32)}`]
    expect(await effects(call(at.dollar, permit, args))).toMatchObject({ grants: [grant] })
    const all = await effects(
      call(at.dollar, 'approve(address,uint256)', [at.taker, String(2n ** 256n - 1n)]),
    )
    expect(all).toMatchObject({ grants: [{ ...grant, raw: await held(at.dollar, payer), unlimited: true }] })

    for (const token of [at.dollar, at.coin]) {
      await sent(call(token, 'approve(address,uint256)', [at.taker, '5000']))
    }
    const batch = 'batch(address[],address[],uint256[])'
    const both = await effects({
      ...call(at.taker, batch, [
        [at.dollar, at.coin],
        [friend, other],
        ['30', '40'],
      ]),
      raw: 2n,
    })
    expect(both).toMatchObject({
      changes: expect.arrayContaining([
        { asset: null, raw: -2n },
        { asset: lower(at.dollar), raw: -30n },
        { asset: lower(at.coin), raw: -40n },
      ]),
      payees: expect.arrayContaining([lower(friend), lower(other)]),
    })
  })

  it('a call is described by its types, and by the addresses that it names or benefits next to its payees', async () => {
    const approves = call(at.dollar, 'approve(address to_our_shop, uint nothing)', [at.taker, '900'])
    expect(await plan(approves)).toMatchObject({ called: 'approve(address,uint256)' })
    const others = async (order: Order) => {
      const { simulation } = await plan(order)
      return simulation.kind === 'moves' ? simulation.others : simulation
    }
    // The spender of an approval and its token are listed in the grant, so they are not among the others.
    expect(await others(approves)).toEqual([])
    const reads = call(at.dollar, 'balanceOf(address)', [other])
    expect(await others(reads)).toEqual([lower(other)])
    // Tokens of another account are minted for a third: the signer loses nothing.
    expect(await others(call(at.dollar, 'mint(address,uint256)', [other, '5']))).toEqual([lower(other)])
    expect(await others(transfer(at.dollar, 700n))).toEqual([])
    expect(await others(transfer(null, 5n))).toEqual([])
  })

  it('a chain of the EVM on which is paid says why a call would be undone, and what an address holds too little of', async () => {
    await called(call(at.silent, 'setReverting(bool)', [true]), faucet)
    expect(await effects(transfer(at.silent, 1n))).toEqual({
      kind: 'fails',
      reason: expect.stringContaining('paused'),
    })
    await called(call(at.silent, 'setReverting(bool)', [false]), faucet)
    expect(await effects(transfer(null, 10n ** 21n))).toMatchObject({ kind: 'fails' })
    expect(await effects(transfer(at.dollar, 10n ** 21n))).toMatchObject({ kind: 'fails' })
  })

  it('a chain of the EVM on which is paid falls back on a trace where it cannot simulate, and says so where it can do neither', async () => {
    const refuses = (...methods: string[]) => {
      rpc.trick = ({ method, id }) =>
        methods.includes(method)
          ? Promise.resolve({ jsonrpc: '2.0', id, error: { code: -32601, message: 'method not found' } })
          : null
    }
    refuses('eth_simulateV1')
    expect(await effects(transfer(at.dollar, 700n))).toMatchObject({
      changes: [{ asset: lower(at.dollar), raw: -700n }],
      payees: [lower(friend)],
    })
    refuses('eth_simulateV1', 'debug_traceCall')
    expect(await effects(transfer(at.dollar, 700n))).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('method not found'),
    })
    rpc.trick = () => null
  })

  it('the cost beyond gas on a rollup counts, and a chain that does not report it is refused', async () => {
    const { feeMaxRaw, unsigned } = await plan(transfer(null, 5n))
    const { gasLimit, maxFeePerGas } = JSON.parse(unsigned) as { gasLimit: string; maxFeePerGas: string }
    const gas = BigInt(gasLimit) * BigInt(maxFeePerGas)
    expect(feeMaxRaw).toBe(gas + 2n * dataFeeRaw + operatorFeeRaw)
    const code = await anvil.rpc('eth_getCode', [dataFeeOracle, 'latest'])
    await anvil.rpc('anvil_setCode', [dataFeeOracle, '0x'])
    await expect(plan(transfer(null, 5n))).rejects.toMatchObject({
      code: 'upstream-failed',
      detail: expect.stringContaining('the costs of a transaction besides its gas'),
    })
    // The oracle before the upgrade that added the second function: a call of that function reverts.
    const older = `0x60003560e01c63275aedd2146038577f${word(7)}60005260206000f35b60006000fd`
    await anvil.rpc('anvil_setCode', [dataFeeOracle, older])
    expect((await plan(transfer(null, 5n))).feeMaxRaw).toBe(gas + 2n * 7n)
    await anvil.rpc('anvil_setCode', [dataFeeOracle, code])
  })

  it('a chain of the EVM on which is paid signs the same bytes for the same plan, which are sent twice and land once', async () => {
    const planned = await plan(transfer(null, 11n, other))
    const signed = chain.sign(planned, planned.place, key)
    expect(chain.sign(planned, planned.place, key)).toEqual(signed)
    await anvil.rpc('evm_setAutomine', [false])
    const before = await chain.balances([other], never)
    await chain.broadcast(signed, never)
    expect(await fate({ ...signed, place: planned.place })).toEqual({ kind: 'waiting' })
    // The second broadcast is rejected as known, or accepted like the first.
    await chain.broadcast(signed, never)
    await anvil.rpc('anvil_mine', [])
    expect(await fate({ ...signed, place: planned.place })).toMatchObject({ kind: 'landed', final: false })
    await anvil.rpc('anvil_mine', ['0x40'])
    expect(await fate({ ...signed, place: planned.place })).toMatchObject({ kind: 'landed', final: true })
    expect((await chain.balances([other], never))[0]).toBe((before[0] ?? 0n) + 11n)
    await anvil.rpc('evm_setAutomine', [true])
  })

  it('a chain of the EVM on which is paid finds a transaction missing that a pool dropped, and one that a reorganization took back', async () => {
    await anvil.rpc('evm_setAutomine', [false])
    const dropped = await sent(transfer(null, 12n))
    await anvil.rpc('anvil_dropTransaction', [dropped.id])
    expect(await fate(dropped)).toEqual({ kind: 'missing' })
    await chain.broadcast(dropped, never)
    await anvil.rpc('anvil_mine', [])
    expect(await fate(dropped)).toMatchObject({ kind: 'landed' })
    await anvil.rpc('anvil_reorg', [1, []])
    const after = await fate(dropped)
    expect(['missing', 'waiting']).toContain(after.kind)
    // The node may refuse it, because the transaction is in its pool again after the reorganization.
    await chain.broadcast(dropped, never).catch(() => {})
    await anvil.rpc('anvil_mine', [])
    expect(await fate(dropped)).toMatchObject({ kind: 'landed' })
    await anvil.rpc('evm_setAutomine', [true])
  })

  it('a chain of the EVM on which is paid says replaced only once another with its number lies deep', async () => {
    await anvil.rpc('evm_setAutomine', [false])
    const stuck = await sent(transfer(null, 13n))
    await anvil.rpc('anvil_dropTransaction', [stuck.id])
    // Another transaction with the same nonce and a higher fee, as a second wallet with the same seed would sign
    // it.
    const replacing = await sent(transfer(null, 14n), stuck.place)
    await anvil.rpc('anvil_mine', [])
    expect(await fate(stuck)).toEqual({ kind: 'missing' })
    await anvil.rpc('anvil_mine', ['0x3f'])
    expect(await fate(stuck)).toEqual({ kind: 'missing' })
    await anvil.rpc('anvil_mine', ['0x1'])
    expect(await fate(stuck)).toEqual({ kind: 'replaced' })
    expect(await fate(replacing)).toMatchObject({ kind: 'landed', final: true, succeeded: true })
    await anvil.rpc('evm_setAutomine', [true])
  })

  it('a chain of the EVM on which is paid replaces a stuck transaction at its number: the same at a higher fee, or nothing, and one of them lands', async () => {
    await anvil.rpc('evm_setAutomine', [false])
    const before = await chain.balances([other], never)
    const again = async (sent: Awaited<ReturnType<typeof sendIt>>, how: 'speed-up' | 'cancel') => {
      const { plan: planned, feeBeforeRaw } = await chain.replacing({ from: payer, ...sent }, how, never)
      expect(planned.feeMaxRaw).toBeGreaterThan((feeBeforeRaw * 12n) / 10n)
      const signed = { ...chain.sign(planned, sent.place, key), place: sent.place }
      await chain.broadcast(signed, never)
      return signed
    }
    const sendIt = () => sent(transfer(null, 21n, other))
    const first = await sendIt()
    const second = await again(first, 'speed-up')
    const third = await again(second, 'speed-up')
    await anvil.rpc('anvil_mine', ['0x42'])
    expect(await fate(third)).toMatchObject({ kind: 'landed', succeeded: true, final: true })
    for (const one of [first, second]) expect(await fate(one)).toEqual({ kind: 'replaced' })
    expect((await chain.balances([other], never))[0]).toBe((before[0] ?? 0n) + 21n)

    const unwanted = await sendIt()
    const cancels = await again(unwanted, 'cancel')
    await anvil.rpc('anvil_mine', ['0x42'])
    expect(await fate(cancels)).toMatchObject({ kind: 'landed', succeeded: true })
    expect(await fate(unwanted)).toEqual({ kind: 'replaced' })
    expect((await chain.balances([other], never))[0]).toBe((before[0] ?? 0n) + 21n)
    await anvil.rpc('evm_setAutomine', [true])
  })

  it('the effect of a transaction is read from its own receipt', async () => {
    const done = await sent(transfer(at.dollar, 77n))
    expect(await fate(done)).toMatchObject({
      kind: 'landed',
      effects: { changes: [{ asset: expect.stringMatching(new RegExp(at.dollar, 'i')), raw: -77n }] },
    })
  })
})

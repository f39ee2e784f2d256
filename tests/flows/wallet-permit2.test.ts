import { keccak_256 } from '@noble/hashes/sha3.js'
import { signTyped } from 'micro-eth-signer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeCall } from '../../packages/wallet/src/chain/evm-call.ts'
import type { Order, PayingChain } from '../../packages/wallet/src/chain/paying-chain.ts'
import { anvilProgram, startAnvil } from '../support/anvil.ts'
import type { Anvil } from '../support/anvil.ts'
import { payer, startEvmPayer } from '../support/evm-payer.ts'
import { deploy, faucet, sendFrom, tokenWords } from '../support/wallet-fakes.ts'
import type { TrickyRpc } from '../support/wallet-fakes.ts'
import { multicall3, permit2, putWellKnown } from '../support/well-known-contracts.ts'

const never = new AbortController().signal
const thief = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const other = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const later = '4000000000'
const all160 = String(2n ** 160n - 1n)
const all256 = String(2n ** 256n - 1n)

const lower = (text: string) => text.toLowerCase()
const call = (contract: string, name: string, args: readonly unknown[]) =>
  ({ do: 'call', contract, call: { function: name, args }, raw: 0n }) as const

/** The real contract that most exchanges use: payee and spender are nested deep in its calls. */
describe.skipIf(anvilProgram === null)('Permit2 by its real code', () => {
  let anvil: Anvil
  let rpc: TrickyRpc
  let chain: PayingChain
  let key: Uint8Array
  const at = { dollar: '', coin: '', mute: '' }

  beforeAll(async () => {
    anvil = await startAnvil(8453)
    await putWellKnown(anvil)
    ;({ rpc, chain, key } = await startEvmPayer(anvil))
    at.dollar = await deploy(anvil, 'Token', tokenWords('USDX', 6))
    at.coin = await deploy(anvil, 'Token', tokenWords('WETX', 18))
    at.mute = await deploy(anvil, 'Token', tokenWords('MUTE', 6, { silent: true }))
    await anvil.rpc('anvil_setBalance', [payer, `0x${(10n ** 20n).toString(16)}`])
    for (const token of [at.dollar, at.coin, at.mute]) {
      const { data } = encodeCall({ function: 'mint(address,uint256)', args: [payer, '1000000'] })
      await sendFrom(anvil, { from: faucet, to: token, data })
    }
    // The usual one-time approval: Permit2 may take all of a token, and itself limits which spender may take how
    // much.
    for (const token of [at.dollar, at.coin])
      await landed(call(token, 'approve(address,uint256)', [permit2, all256]))
  })
  afterAll(async () => {
    await rpc?.close()
    await anvil?.close()
  })

  async function landed(order: Order) {
    const plan = await chain.plan(payer, order, never)
    const signed = chain.sign(plan, plan.place, key)
    await chain.broadcast(signed, never)
    await anvil.rpc('anvil_mine', [])
    const fate = await chain.follow({ from: payer, place: plan.place, id: signed.id }, never)
    if (fate.kind !== 'landed' || !fate.succeeded) throw new Error(`it is ${JSON.stringify(fate)}`)
    return fate.effects
  }
  const effects = async (order: Order) => {
    const { simulation } = await chain.plan(payer, order, never)
    return simulation.kind === 'moves' ? simulation.effects : simulation
  }
  const allows = (token: string, spender: string, raw: string) =>
    call(permit2, 'approve(address,address,uint160,uint48)', [token, spender, raw, later])
  const takes = (to: string, raw: number) =>
    encodeCall({
      function: 'transferFrom(address,address,uint160,address)',
      args: [payer, to, String(raw), at.dollar],
    }).data

  function signed(primaryType: string, types: object, message: object): string {
    const domain = { name: 'Permit2', chainId: 8453n, verifyingContract: permit2 }
    const named = (name: string, type: string) => ({ name, type })
    const EIP712Domain = [
      named('name', 'string'),
      named('chainId', 'uint256'),
      named('verifyingContract', 'address'),
    ]
    const typed = { types: { EIP712Domain, ...types }, primaryType, domain, message }
    return signTyped(typed as never, `0x${Buffer.from(key).toString('hex')}`, false)
  }
  const details = [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint160' },
    { name: 'expiration', type: 'uint48' },
    { name: 'nonce', type: 'uint48' },
  ]
  const permissions = [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ]

  it('Permit2 by its real code lets a spender take a part or all of a token, and what it lets take lands as it was shown', async () => {
    const grant = { asset: lower(at.dollar), spender: lower(thief), raw: 900n, unlimited: false }
    const part = allows(at.dollar, thief, '900')
    expect(await effects(part)).toEqual({ changes: [], payees: [], grants: [grant] })
    expect(await landed(part)).toEqual({ changes: [], payees: [], grants: [grant] })
    expect(await effects(allows(at.dollar, thief, all160))).toEqual({
      changes: [],
      payees: [],
      grants: [{ ...grant, raw: 1_000_000n, unlimited: true }],
    })
    expect(await effects(allows(at.dollar, thief, '0'))).toMatchObject({ grants: [] })
    const pair = [[[at.dollar, thief]]]
    expect(await effects(call(permit2, 'lockdown((address,address)[])', pair))).toMatchObject({ grants: [] })
  })

  it('Permit2 by its real code lets several take by one signature, each for itself', async () => {
    const message = {
      details: [
        { token: at.dollar, amount: 700n, expiration: BigInt(later), nonce: 0n },
        { token: at.coin, amount: 2n ** 160n - 1n, expiration: BigInt(later), nonce: 0n },
      ],
      spender: other,
      sigDeadline: BigInt(later),
    }
    const types = {
      PermitBatch: [
        { name: 'details', type: 'PermitDetails[]' },
        { name: 'spender', type: 'address' },
        { name: 'sigDeadline', type: 'uint256' },
      ],
      PermitDetails: details,
    }
    const batch = [
      message.details.map(({ token, amount }) => [token, String(amount), later, '0']),
      other,
      later,
    ]
    const name = 'permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)'
    expect(
      await effects(call(permit2, name, [payer, batch, signed('PermitBatch', types, message)])),
    ).toMatchObject({
      changes: [],
      grants: [
        { asset: lower(at.dollar), spender: lower(other), raw: 700n, unlimited: false },
        { asset: lower(at.coin), spender: lower(other), raw: 1_000_000n, unlimited: true },
      ],
    })
    // The signature is for another deadline, so the contract would revert.
    const wrong = signed('PermitBatch', types, { ...message, sigDeadline: 7n })
    expect(await effects(call(permit2, name, [payer, batch, wrong]))).toMatchObject({ kind: 'fails' })
  })

  it('payees of a signed permit deep in a call are found: one, several, and with a witness', async () => {
    const one = { token: at.dollar, amount: 60n }
    const witnessed =
      'permitWitnessTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes32,string,bytes)'
    const types = (name: string, permitted: string, extra: object[] = []) => ({
      [name]: [
        { name: 'permitted', type: permitted },
        { name: 'spender', type: 'address' },
        { name: 'nonce', type: 'uint256' },
        { name: 'deadline', type: 'uint256' },
        ...extra,
      ],
      TokenPermissions: permissions,
    })
    const base = { spender: payer, nonce: 1n, deadline: BigInt(later) }
    const leaves = { changes: [{ asset: lower(at.dollar), raw: -60n }], payees: [lower(thief)] }

    const single = signed('PermitTransferFrom', types('PermitTransferFrom', 'TokenPermissions'), {
      ...base,
      permitted: one,
    })
    const asked = [[at.dollar, '60'], '1', later]
    expect(
      await effects(
        call(
          permit2,
          'permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)',
          [asked, [thief, '60'], payer, single],
        ),
      ),
    ).toMatchObject(leaves)

    const batch = signed('PermitBatchTransferFrom', types('PermitBatchTransferFrom', 'TokenPermissions[]'), {
      ...base,
      permitted: [one, { token: at.coin, amount: 40n }],
    })
    expect(
      await effects(
        call(
          permit2,
          'permitTransferFrom(((address,uint256)[],uint256,uint256),(address,uint256)[],address,bytes)',
          [
            [
              [
                [at.dollar, '60'],
                [at.coin, '40'],
              ],
              '1',
              later,
            ],
            [
              [thief, '60'],
              [other, '40'],
            ],
            payer,
            batch,
          ],
        ),
      ),
    ).toMatchObject({
      changes: [...leaves.changes, { asset: lower(at.coin), raw: -40n }],
      payees: [lower(thief), lower(other)],
    })

    const kind = 'PermitWitnessTransferFrom'
    const witness = { name: 'witness', type: 'Mail' }
    const mail = [{ name: 'what', type: 'uint256' }]
    const signature = signed(
      kind,
      { ...types(kind, 'TokenPermissions', [witness]), Mail: mail },
      { ...base, permitted: one, witness: { what: 5n } },
    )
    // As Solidity hashes the witness: the hash of its type, then its member.
    const hash = keccak_256(
      Buffer.concat([
        keccak_256(Buffer.from('Mail(uint256 what)')),
        Buffer.from('5'.padStart(64, '0'), 'hex'),
      ]),
    )
    const text = 'Mail witness)Mail(uint256 what)TokenPermissions(address token,uint256 amount)'
    expect(
      await effects(
        call(permit2, witnessed, [
          asked,
          [thief, '60'],
          payer,
          `0x${Buffer.from(hash).toString('hex')}`,
          text,
          signature,
        ]),
      ),
    ).toMatchObject(leaves)
  })

  it('payees of a nested call are found', async () => {
    await landed(allows(at.dollar, multicall3, '100'))
    const nested = (to: string, raw: number) => [permit2, false, takes(to, raw)]
    const name = 'aggregate3((address,bool,bytes)[])'
    const inner = encodeCall({ function: name, args: [[nested(other, 3)]] }).data
    const both = call(multicall3, name, [[nested(thief, 20), [multicall3, false, inner]]])
    expect(await effects(both)).toMatchObject({
      changes: [{ asset: lower(at.dollar), raw: -23n }],
      payees: [lower(thief), lower(other)],
    })
    expect(await landed(both)).toMatchObject({ payees: [lower(thief), lower(other)] })
  })

  it('payees of a contract that forwards what it received are found, in coins or tokens', async () => {
    const name = 'aggregate3Value((address,bool,uint256,bytes)[])'
    const args = [
      [
        [thief, false, '50', '0x'],
        [other, false, '7', '0x'],
      ],
    ]
    const hands = { ...call(multicall3, name, args), raw: 57n }
    const payees = expect.arrayContaining([lower(multicall3), lower(thief), lower(other)])
    expect(await effects(hands)).toMatchObject({ changes: [{ asset: null, raw: -57n }], payees })
    withoutSimulation()
    expect(await effects(hands)).toMatchObject({ changes: [{ asset: null, raw: -57n }], payees })
    rpc.trick = () => null

    await landed(allows(at.dollar, multicall3, '100'))
    const hidden = encodeCall({ function: 'transfer(address,uint256)', args: [thief, '30'] }).data
    const tokens = call(multicall3, 'aggregate3((address,bool,bytes)[])', [
      [
        [permit2, false, takes(multicall3, 30)],
        [at.dollar, false, hidden],
      ],
    ])
    expect(await effects(tokens)).toMatchObject({
      changes: [{ asset: lower(at.dollar), raw: -30n }],
      payees: [lower(multicall3), lower(thief)],
    })
  })

  it('Permit2 by its real code is no way round a token that writes no log of what it lets take', async () => {
    await anvil.rpc('anvil_setCode', [
      at.mute,
      withoutApprovals(String(await anvil.rpc('eth_getCode', [at.mute, 'latest']))),
    ])
    const lets = (raw: string) => effects(call(at.mute, 'approve(address,uint256)', [thief, raw]))
    const grant = { asset: lower(at.mute), spender: lower(thief) }
    expect(await lets('900')).toEqual({
      changes: [],
      payees: [],
      grants: [{ ...grant, raw: 900n, unlimited: false }],
    })
    expect(await lets(all256)).toMatchObject({ grants: [{ ...grant, raw: 1_000_000n, unlimited: true }] })
    withoutSimulation()
    expect(await lets('900')).toMatchObject({ kind: 'unknown' })
    expect(await lets('0')).toMatchObject({ grants: [] })
    rpc.trick = () => null
  })

  function withoutSimulation(): void {
    rpc.trick = ({ method, id }) =>
      method === 'eth_simulateV1'
        ? Promise.resolve({ jsonrpc: '2.0', id, error: { code: -32601, message: 'method not found' } })
        : null
  }

  /** The same code with another topic in place of that of `Approval`, so that its logs report no approvals. */
  function withoutApprovals(code: string): string {
    const topic = '8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925'
    if (!code.includes(topic)) throw new Error('it writes no approvals')
    return code.replaceAll(topic, '11'.repeat(32))
  }
})

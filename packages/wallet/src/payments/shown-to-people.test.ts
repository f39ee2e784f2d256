import { describe, expect, test } from 'vitest'
import { onceOnly } from '../../../foundation/src/storage/resumable.ts'
import { aPaymentsHarness, friend, never, scout, sender } from '../../../testing/src/payments-harness.ts'
import { knownTokensOf } from '../known-tokens.ts'
import type { Effects, Simulation } from '../chain/paying-chain.ts'

const stranger = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const token = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const gained = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc'
const contract = '0x976EA74026E726554dB657fA54763abd0C3a0aa9'

const doing = (effects: Partial<Effects>, others?: readonly string[]): Simulation => ({
  kind: 'moves',
  effects: { changes: [], payees: [], grants: [], ...effects },
  ...(others === undefined ? {} : { others }),
})

/** A call, and its description for the agent that requests it and for the person who decides. */
async function told(
  simulation: Simulation,
  {
    wallet = {},
    amount,
    args = ['5'],
    warnings = [],
  }: {
    readonly wallet?: object
    readonly amount?: string
    readonly args?: readonly unknown[]
    readonly warnings?: readonly string[]
  } = {},
) {
  const harness = aPaymentsHarness({
    record: { wallet_allowed_contracts: ['*'], wallet_spend_limit_per_tx_usd: 1000 },
    wallet: { approve_above_usd: 0, ...wallet },
  })
  for (const [address, symbol] of [
    [token, 'USDX'],
    [gained, 'GAIN'],
    [knownTokensOf('base')['USDC'] ?? '', 'USDC'],
  ] as const)
    harness.chain.tokens.set(address.toLowerCase(), { decimals: 6, symbol })
  harness.chain.simulation = () => simulation
  const { plan } = harness.chain
  harness.chain.plan = async (...given) => ({ ...(await plan(...given)), warnings })
  const call = {
    chain: 'base' as const,
    contract,
    function: 'swap(uint256)',
    args: [...args],
    ...(amount === undefined ? {} : { amount }),
  }
  const simulated = await harness.pay.simulate(scout, call, never)
  await harness.pay.execute(scout, call, { step: onceOnly(harness.database), key: 'run_1:1', signal: never })
  const words = harness.pay.kind.describe(harness.asked[0]?.args as never)
  return { simulated, ...words, harness }
}

const fee = 'The fee is at most 0.000001 ETH (0.000001 USD).'
const asked = (reasons: string) => `This payment needs an approval because ${reasons}.`
const from = `On base, from ${sender}.`
const calls = `Calls swap(uint256) of ${contract} with ["5"].`

describe('a person sees of a call', () => {
  test('the description of a call that moves nothing says so, and that its fee counts', async () => {
    const { summary, consequences, price, simulated } = await told(doing({}))
    expect(summary).toBe(`call swap(uint256) of ${contract} on base, which moves only its fee`)
    const lines = [
      from,
      calls,
      'Nothing leaves except the fee.',
      'The payment counts for 0.000001 USD against the limits of the agent.',
    ]
    expect(consequences).toEqual([...lines, asked('the payment counts for more than 0 USD')])
    expect(price).toBe(fee)
    expect(simulated).toEqual({
      would: [...lines, fee],
      counted_usd: 0.000001,
      asks_a_person: ['the payment counts for more than 0 USD'],
    })
  })

  test('the description of a call lists what leaves, arrives and may be taken, the recipients and warnings', async () => {
    const effects = {
      changes: [
        { asset: null, raw: -(10n ** 18n) },
        { asset: token, raw: -2_000_000n },
        { asset: gained, raw: 7n },
      ],
      payees: [stranger],
      grants: [
        { asset: token, spender: friend, raw: 3_000_000n, unlimited: false },
        { asset: token, spender: stranger, raw: 4_000_000n, unlimited: true },
      ],
    }
    const { summary, consequences, simulated } = await told(doing(effects), {
      amount: '1',
      warnings: ['its issuer can freeze it'],
    })
    const of = (amount: string) =>
      `${amount} of the token ${token}, which has the symbol USDX (${amount} USD)`
    expect(summary).toBe(
      `call swap(uint256) of ${contract} on base, which moves 1 ETH (1 USD) and ${of('2')}, and lets ${friend} take ${of('3')}, and lets ${stranger} take ALL of the token ${token}`,
    )
    expect(consequences).toEqual([
      from,
      calls,
      `Leaves the address: 1 ETH (1 USD); ${of('2')}.`,
      `Comes in: 7 base units of ${gained}.`,
      `${friend} (friend) may take ${of('3')} from then on.`,
      `${stranger} may take ALL of the token ${token} from then on, now and later; the address has ${of('4')}.`,
      `The call also pays ${stranger}, or gives them permissions.`,
      `The call also pays ${friend} (friend), or gives them permissions.`,
      'Note that its issuer can freeze it.',
      'The payment counts for 10.000001 USD against the limits of the agent.',
      asked(
        `the payment counts for more than 0 USD, and ${contract} was never paid before, and ${stranger} was never paid before, and the payment allows another address to take all of a token`,
      ),
    ])
    expect(simulated.counted_usd).toBe(10.000001)
  })

  test('the description of a call lists each payee once in any letter case, then addresses that it only names', async () => {
    const { consequences, simulated } = await told(
      doing({ payees: [stranger, stranger.toLowerCase()] }, [
        stranger.toUpperCase().replace('X', 'x'),
        token,
      ]),
    )
    expect(consequences.filter((line) => line.startsWith('The call also'))).toEqual([
      `The call also pays ${stranger}, or gives them permissions.`,
      `The call also names ${token}, which may receive something from it.`,
    ])
    expect(simulated.asks_a_person).toEqual([
      'the payment counts for more than 0 USD',
      `${stranger} was never paid before`,
      `${token} was never paid before`,
    ])
  })

  test('the description of a call warns about a look-alike token and not about the original', async () => {
    const usdc = knownTokensOf('base')['USDC'] ?? ''
    const real = await told(doing({ changes: [{ asset: usdc, raw: 5n }] }))
    expect(real.consequences.join()).not.toContain('WARNING')
    const { harness, consequences } = await told(doing({ changes: [{ asset: gained, raw: 5n }] }))
    expect(consequences.join()).not.toContain('WARNING')
    harness.chain.tokens.set(gained.toLowerCase(), { decimals: 6, symbol: 'USDC' })
    const call = { chain: 'base' as const, contract, function: 'swap(uint256)', args: ['5'] }
    const { would, asks_a_person: reasons } = await harness.pay.simulate(scout, call, never)
    const words = `the token ${gained} with the symbol USDC is not the USDC that is known`
    expect(would).toContain(`WARNING: ${words}.`)
    expect(reasons).toEqual(['the payment counts for more than 0 USD', words])
  })

  test('the description of a call lists incoming assets even without a known symbol', async () => {
    const { consequences } = await told(doing({ changes: [{ asset: stranger, raw: 1n }] }))
    expect(consequences).toContain(`Comes in: 1 base units of ${stranger}.`)
    const coin = await told(doing({ changes: [{ asset: null, raw: 9n }] }))
    expect(coin.consequences).toContain('Comes in: 9 base units of ETH.')
  })

  test('the description of a call cuts long arguments and says so', async () => {
    const short = await told(doing({}), { args: ['a'.repeat(496)] })
    expect(short.consequences[1]).toBe(`Calls swap(uint256) of ${contract} with ["${'a'.repeat(496)}"].`)
    const long = await told(doing({}), { args: ['a'.repeat(497)] })
    expect(long.consequences[1]).toBe(
      `Calls swap(uint256) of ${contract} with ["${'a'.repeat(497)}"…`.concat('.'),
    )
  })

  test("the description of a call contains the owner's name for the contract", async () => {
    const { consequences } = await told(doing({}), { wallet: { known_addresses: { exchange: contract } } })
    expect(consequences[1]).toBe(`Calls swap(uint256) of ${contract} (exchange) with ["5"].`)
  })
})

describe('a person is asked', () => {
  test('a payment above the threshold needs approval, and one at it does not', async () => {
    const at = async (approve_above_usd: number) => {
      const { send } = aPaymentsHarness({ wallet: { approve_above_usd } })
      return (await send('0.5')).state
    }
    // The fee counts too.
    expect([await at(0.500001), await at(0.5)]).toEqual(['paid', 'waiting'])
  })

  test('a payee that was paid before needs no approval, in any letter case', async () => {
    const { send, table } = aPaymentsHarness()
    table.knowPayee('base', stranger.toLowerCase())
    expect(await send('0.1', { to: stranger })).toMatchObject({ state: 'paid' })
    table.knowPayee('ethereum', token)
    expect(await send('0.1', { to: token })).toMatchObject({ state: 'waiting' })
  })

  test('a transfer whose token also pays other addresses needs approval for those', async () => {
    const {
      send,
      chain,
      asked: waiting,
      pay,
    } = aPaymentsHarness({
      record: { wallet_allowed_contracts: ['*'] },
    })
    chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDX' })
    chain.simulation = () =>
      doing({ changes: [{ asset: token, raw: -500_000n }], payees: [friend, stranger] })
    expect(await send('0.5', { token })).toMatchObject({ because: [`${stranger} was never paid before`] })
    const { summary, consequences } = pay.kind.describe(waiting[0]?.args as never)
    expect(summary).toBe(
      `pay 0.5 of the token ${token}, which has the symbol USDX (0.5 USD) to ${friend} on base`,
    )
    expect(consequences.slice(0, 2)).toEqual([from, `To ${friend} (friend).`])
    expect(consequences.filter((line) => line.startsWith('The call also'))).toEqual([
      `The call also pays ${stranger}, or gives them permissions.`,
    ])
  })
})

describe('unknown effects of a payment', () => {
  const unknown: Simulation = { kind: 'unknown', reason: 'no such method' }

  test.each([
    ['another chain', `ethereum:${contract}:swap(uint256)`],
    ['another contract', `base:${token}:swap(uint256)`],
    ['another function', `base:${contract}:swap(uint8)`],
    ['the case of another function', `base:${contract}:SWAP(uint256)`],
    ['no function', `base:${contract}`],
    ['nothing', ''],
  ])('a call with unknown effects is not allowed by an entry of %s', async (_what, entry) => {
    await expect(told(unknown, { wallet: { allow_unsimulated: [entry] } })).rejects.toMatchObject({
      code: 'not-simulated',
      detail: `base:${contract}:swap(uint256): no such method`,
    })
  })

  test('a call with unknown effects is allowed by its own entry, in any letter case of the address', async () => {
    const entry = `base:${contract.toLowerCase()}:swap(uint256)`
    const { consequences } = await told(unknown, { wallet: { allow_unsimulated: ['x', entry] } })
    expect(consequences.at(-1)).toBe(
      asked('the payment counts for more than 0 USD, and the effects of the payment are unknown'),
    )
  })

  test('the effects of a coin payment are always known: it moves its amount', async () => {
    const { send, chain, table } = aPaymentsHarness()
    chain.simulation = () => unknown
    expect(await send('0.5')).toMatchObject({ state: 'paid', payment: { counted_usd: 0.500001 } })
    expect(table.list({ agentId: 'scout', limit: 1 })[0]?.effects).toEqual({
      changes: [{ asset: null, raw: -5n * 10n ** 17n }],
      payees: [],
      grants: [],
    })
    chain.simulation = () => ({ kind: 'fails', reason: 'it holds too little' })
    await expect(send('0.5')).rejects.toMatchObject({ code: 'would-fail', detail: 'it holds too little' })
  })

  test('a refused token call names the entry with which its owner could allow it', async () => {
    const { send, chain } = aPaymentsHarness({ record: { wallet_allowed_contracts: ['*'] } })
    chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDX' })
    chain.simulation = () => unknown
    await expect(send('0.5', { token })).rejects.toMatchObject({
      code: 'not-simulated',
      detail: `base:${token}:transfer(address,uint256): no such method`,
    })
  })
})

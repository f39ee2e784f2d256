import { describe, expect, test } from 'vitest'
import { onceOnly } from '../../../foundation/src/storage/resumable.ts'
import {
  aPaymentsHarness,
  friend,
  never,
  owner,
  scout,
  sender,
} from '../../../testing/src/payments-harness.ts'
import type { Effects } from '../chain/paying-chain.ts'
import { approvedPaymentSchema } from './approved-payment.ts'
import { atLeastOrdered, orderedAmounts } from './ordered-amounts.ts'

const token = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const other = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const nothing: Effects = { changes: [], payees: [], grants: [] }

function aTokenHarness(more: Parameters<typeof aPaymentsHarness>[0] = {}) {
  const harness = aPaymentsHarness({ ...more, record: { wallet_allowed_contracts: ['*'], ...more.record } })
  harness.chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDX' })
  const execute = (text: string, args: unknown[], amount = '0') =>
    harness.pay.execute(
      scout,
      { chain: 'base', contract: token, function: text, args, amount },
      { step: onceOnly(harness.database), key: `run_1:${text}${JSON.stringify(args)}`, signal: never },
    )
  return { ...harness, execute }
}

describe('what was ordered counts, whatever a simulation shows:', () => {
  test('a token without logs counts for the ordered amount and needs approval', async () => {
    const { chain, send, asked } = aTokenHarness()
    chain.simulation = () => ({ kind: 'moves', effects: nothing })
    expect(await send('0.5', { token })).toMatchObject({
      state: 'waiting',
      because: [`the simulation shows a smaller amount of ${token} than requested`],
    })
    expect(asked[0]?.args).toMatchObject({
      charged_micro_usd: 500_001,
      summary: expect.stringContaining('pay 0.5 of the token'),
    })
  })

  test('the limit of one payment applies to a token without logs', async () => {
    const { chain, send, execute } = aTokenHarness({ record: { wallet_spend_limit_per_tx_usd: 5 } })
    chain.simulation = () => ({ kind: 'moves', effects: nothing })
    const refused = { code: 'denied', extra: { field: 'wallet_spend_limit_per_tx_usd' } }
    await expect(send('6', { token })).rejects.toMatchObject(refused)
    const call = (text: string, args: unknown[]) => expect(execute(text, args)).rejects.toMatchObject(refused)
    await call('transfer(address to, uint256 amount)', [friend, '6000000'])
    await call('transferFrom(address,address,uint256)', [sender.toLowerCase(), friend, 6_000_000])
    await call('approve(address,uint256)', [friend, '6000000'])
    await call('increaseAllowance(address,uint256)', [friend, '6000000'])
  })

  test('a call with unknown effects counts for the tokens that it names, not only for its coins', async () => {
    const text = 'transfer(address,uint256)'
    const { chain, execute, asked } = aTokenHarness({
      wallet: { allow_unsimulated: [`base:${token}:${text}`] },
    })
    chain.simulation = () => ({ kind: 'unknown', reason: 'no such method' })
    expect(await execute(text, [friend, '700000'], '0.1')).toMatchObject({
      state: 'waiting',
      because: [`${token} was never paid before`, 'the effects of the payment are unknown'],
    })
    expect(asked[0]?.args).toMatchObject({ charged_micro_usd: 800_001 })
  })

  test('a contract that does not report its effects needs approval', async () => {
    const { chain, execute } = aTokenHarness()
    chain.simulation = () => ({ kind: 'moves', effects: nothing, unseen: [other] })
    expect(await execute('f()', [])).toMatchObject({
      because: [`the contract ${other} does not report what the call does there`],
    })
  })

  test('more than was ordered counts as simulated', () => {
    const ordered = orderedAmounts(
      { do: 'transfer', asset: token, to: friend, raw: 5n },
      { from: sender, called: '' },
    )
    const more: Effects = { ...nothing, changes: [{ asset: token.toLowerCase(), raw: -6n }] }
    expect(atLeastOrdered(more, ordered)).toEqual({ effects: more, short: [] })
    const less: Effects = { ...nothing, changes: [{ asset: token.toLowerCase(), raw: -4n }] }
    expect(atLeastOrdered(less, ordered)).toEqual({
      effects: { ...nothing, changes: [{ asset: token.toLowerCase(), raw: -5n }] },
      short: [token],
    })
  })

  test('a simulated allowance below the ordered one counts as ordered, and a higher one as simulated', () => {
    const ordered = orderedAmounts(
      { do: 'call', contract: token, call: { function: '', args: [friend, '7'] }, raw: 0n },
      { from: sender, called: 'approve(address,uint256)' },
    )
    const grant = { asset: token.toLowerCase(), spender: friend.toLowerCase(), raw: 1n, unlimited: false }
    expect(atLeastOrdered({ ...nothing, grants: [grant] }, ordered)).toEqual({
      effects: { ...nothing, grants: [{ ...grant, raw: 7n }] },
      short: [token],
    })
    const more: Effects = { ...nothing, grants: [{ ...grant, raw: 8n }] }
    expect(atLeastOrdered(more, ordered)).toEqual({ effects: more, short: [] })
    const all: Effects = { ...nothing, grants: [{ ...grant, raw: 0n, unlimited: true }] }
    expect(atLeastOrdered(all, ordered)).toEqual({ effects: all, short: [] })
  })

  const call = (contract: string, args: readonly unknown[], raw = 0n) =>
    ({ do: 'call', contract, call: { function: '', args }, raw }) as const

  test.each([
    [
      'transfer(address,uint256)',
      [friend, '7'],
      { moves: [{ asset: token, to: friend, raw: 7n }], lets: [] },
    ],
    ['transferFrom(address,address,uint256)', [other, friend, '7'], { moves: [], lets: [] }],
    [
      'transferFrom(address,address,uint256)',
      [sender, friend, '7'],
      { moves: [{ asset: token, to: friend, raw: 7n }], lets: [] },
    ],
    [
      'send(address,uint256,bytes)',
      [friend, '7', '0x'],
      { moves: [{ asset: token, to: friend, raw: 7n }], lets: [] },
    ],
    [
      'transferAndCall(address,uint256)',
      [friend, '7'],
      { moves: [{ asset: token, to: friend, raw: 7n }], lets: [] },
    ],
    [
      'transferAndCall(address,uint256,bytes)',
      [friend, '7', '0x'],
      { moves: [{ asset: token, to: friend, raw: 7n }], lets: [] },
    ],
    ['burn(uint256)', ['7'], { moves: [{ asset: token, to: token, raw: 7n }], lets: [] }],
    ['burn(uint256,bytes)', ['7', '0x'], { moves: [{ asset: token, to: token, raw: 7n }], lets: [] }],
    ['burnFrom(address,uint256)', [sender, '7'], { moves: [{ asset: token, to: token, raw: 7n }], lets: [] }],
    ['burnFrom(address,uint256)', [other, '7'], { moves: [], lets: [] }],
    ...[
      'operatorSend(address,address,uint256,bytes,bytes)',
      'transferFromAndCall(address,address,uint256)',
      'transferFromAndCall(address,address,uint256,bytes)',
      'move(address,address,uint256)',
    ].flatMap((called) => [
      [called, [sender, friend, '7'], { moves: [{ asset: token, to: friend, raw: 7n }], lets: [] }] as const,
      [called, [other, friend, '7'], { moves: [], lets: [] }] as const,
    ]),
    ['push(address,uint256)', [friend, '7'], { moves: [{ asset: token, to: friend, raw: 7n }], lets: [] }],
    ...[
      'approveAndCall(address,uint256)',
      'approveAndCall(address,uint256,bytes)',
      'increaseApproval(address,uint256)',
    ].map(
      (called) =>
        [called, [friend, '7'], { moves: [], lets: [{ asset: token, spender: friend, raw: 7n }] }] as const,
    ),
    ...[
      'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
      'permit(address,address,uint256,uint256,bytes)',
    ].flatMap((called) => [
      [
        called,
        [sender, friend, '7', '9'],
        { moves: [], lets: [{ asset: token, spender: friend, raw: 7n }] },
      ] as const,
      [called, [other, friend, '7', '9'], { moves: [], lets: [] }] as const,
    ]),
    [
      'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)',
      [sender, friend, '0', '0', true],
      { moves: [], lets: [{ asset: token, spender: friend, raw: 2n ** 256n - 1n }] },
    ],
    [
      'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)',
      [sender, friend, '0', '0', false],
      { moves: [], lets: [] },
    ],
    [
      'authorizeOperator(address)',
      [friend],
      { moves: [], lets: [{ asset: token, spender: friend, raw: 2n ** 256n - 1n }] },
    ],
    [
      'approve(address,uint256)',
      [friend, '7'],
      { moves: [], lets: [{ asset: token, spender: friend, raw: 7n }] },
    ],
    ['approve(address,uint256)', [friend, '0'], { moves: [], lets: [] }],
    [
      'increaseAllowance(address,uint256)',
      [friend, 7],
      { moves: [], lets: [{ asset: token, spender: friend, raw: 7n }] },
    ],
    [
      'approve(address,address,uint160,uint48)',
      [other, friend, '7', '9'],
      { moves: [], lets: [{ asset: other, spender: friend, raw: 7n }] },
    ],
    [
      'transferFrom(address,address,uint160,address)',
      [sender, friend, '7', other],
      { moves: [{ asset: other, to: friend, raw: 7n }], lets: [] },
    ],
    ['transferFrom(address,address,uint160,address)', [friend, friend, '7', other], { moves: [], lets: [] }],
    ['stake(uint256)', ['7'], { moves: [], lets: [] }],
    ['toString', [], { moves: [], lets: [] }],
  ] as const)('%s of %j says what it orders', (called, args, ordered) => {
    expect(orderedAmounts(call(token, args), { from: sender, called })).toEqual(ordered)
  })

  test('coins sent with a call count in addition to its tokens', () => {
    const order = call(token, [friend, '7'], 3n)
    expect(orderedAmounts(order, { from: sender, called: 'transfer(address,uint256)' }).moves).toEqual([
      { asset: null, to: token, raw: 3n },
      { asset: token, to: friend, raw: 7n },
    ])
  })

  test('an allowance that no simulation shows counts, for the whole balance if it is unlimited', () => {
    const lets = (raw: bigint) => ({ moves: [], lets: [{ asset: token, spender: friend, raw }] })
    const grant = { asset: token, spender: friend, raw: 1n, unlimited: false }
    expect(atLeastOrdered(null, lets(1n))).toEqual({
      effects: { ...nothing, grants: [grant] },
      short: [token],
    })
    expect(atLeastOrdered(nothing, lets(2n ** 255n)).effects.grants[0]).toMatchObject({ unlimited: true })
    expect(atLeastOrdered(nothing, lets(2n ** 255n - 1n)).effects.grants[0]).toMatchObject({
      unlimited: false,
    })
    const shown = { ...nothing, grants: [{ ...grant, asset: token.toLowerCase(), raw: 9n }] }
    expect(atLeastOrdered(shown, lets(1n))).toEqual({ effects: shown, short: [] })
  })
})

describe('between the approval and the signature', () => {
  const rising = async (times: bigint, amount = '0.00001') => {
    const harness = aPaymentsHarness()
    await harness.send(amount, { to: other })
    const { plan } = harness.chain
    harness.chain.plan = async (...given) => {
      const planned = await plan(...given)
      return { ...planned, feeMaxRaw: planned.feeMaxRaw * times }
    }
    const end = harness.pay.kind.carryOut(owner as never, harness.asked[0]?.args as never)
    return { end, states: harness.states }
  }

  test.each([2n, 3n])(
    'a fee that rises %s times after the approval refuses no payment, however small',
    async (times) => {
      const { end, states } = await rising(times)
      expect(await end).toContain('is sent')
      expect(states()).toEqual(['sent'])
    },
  )

  test.each(['0.00001', '5'])(
    'a fee that rises four times after the approval refuses a payment of %s dollars',
    async (amount) => {
      const { end, states } = await rising(4n, amount)
      await expect(end).rejects.toMatchObject({
        code: 'conflict',
        detail: expect.stringMatching(/more than 3 times the \d+ \(0\.000001 USD\) that were shown$/),
      })
      expect(states()).toEqual([])
    },
  )

  test('a lower fee after the approval makes no room for a higher amount', async () => {
    const { chain, execute, asked, pay, states } = aTokenHarness({ coinUsd: 1_000_000n })
    const moves = (raw: bigint) => {
      chain.simulation = () => ({ kind: 'moves', effects: { ...nothing, changes: [{ asset: token, raw }] } })
    }
    moves(-2_000_000n)
    await execute('f()', [])
    moves(-2_050_000n)
    const { plan } = chain
    chain.plan = async (...given) => ({ ...(await plan(...given)), feeMaxRaw: 1n })
    await expect(pay.kind.carryOut(owner as never, asked[0]?.args as never)).rejects.toMatchObject({
      code: 'conflict',
    })
    expect(states()).toEqual([])
  })

  const priced = async (limits: { wallet_spend_limit_per_tx_usd?: number } = {}) => {
    const given = { coinUsd: 3000n }
    const harness = aPaymentsHarness(
      Object.assign(given, {
        record: { wallet_spend_limit_per_tx_usd: 10_000, wallet_spend_limit_daily_usd: 100_000, ...limits },
      }),
    )
    expect(await harness.send('1')).toMatchObject({ state: 'waiting' })
    const confirm = () => harness.pay.kind.carryOut(owner as never, harness.asked[0]?.args as never)
    return { ...harness, given, confirm }
  }

  test.each([3090n, 9000n, 1n])(
    'an approved payment of one coin is signed when the price of the coin moves from 3,000 to %s USD',
    async (coinUsd) => {
      const { given, confirm, states } = await priced()
      given.coinUsd = coinUsd
      expect(await confirm()).toContain('is sent')
      expect(states()).toEqual(['sent'])
    },
  )

  test('an approved payment is refused when the price of the coin lifts it above a limit in dollars', async () => {
    const { given, confirm, states } = await priced({ wallet_spend_limit_per_tx_usd: 3050 })
    given.coinUsd = 3090n
    await expect(confirm()).rejects.toMatchObject({
      code: 'denied',
      extra: { field: 'wallet_spend_limit_per_tx_usd' },
    })
    expect(states()).toEqual([])
  })

  test('a price that falls makes no room for a higher amount or fee', async () => {
    const { given, chain, confirm, states } = await priced()
    given.coinUsd = 1000n
    const { plan, simulation } = chain
    chain.simulation = () => ({
      kind: 'moves',
      effects: { ...nothing, changes: [{ asset: null, raw: -1_030_000_000_000_000_000n }] },
    })
    await expect(confirm()).rejects.toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining('1030000000000000000 base units of the coin'),
    })
    chain.simulation = simulation
    chain.plan = async (...asked) => {
      const planned = await plan(...asked)
      return { ...planned, feeMaxRaw: planned.feeMaxRaw * 3n + 1n }
    }
    await expect(confirm()).rejects.toMatchObject({ code: 'conflict' })
    expect(states()).toEqual([])
  })

  test('an approval says every reason, and one of an earlier release names no further payees', async () => {
    const harness = aPaymentsHarness({ wallet: { approve_above_usd: 1 } })
    await harness.send('2', { to: other })
    const args = harness.asked[0]?.args as { lines: string[] }
    expect(args.lines.at(-1)).toBe(
      `This payment needs an approval because the payment counts for more than 1 USD, and ${other} was never paid before.`,
    )
    const { payees: _payees, ...earlier } = (harness.asked[0]?.args ?? {}) as Record<string, unknown>
    expect(approvedPaymentSchema.parse(earlier).payees).toEqual([])
  })

  test('an approval of an earlier release without a separate fee is judged as one amount', async () => {
    const harness = aPaymentsHarness()
    await harness.send('2')
    const {
      fee_shown: _fee,
      does: _does,
      ...earlier
    } = (harness.asked[0]?.args ?? {}) as Record<string, unknown>
    expect(harness.pay.kind.describe(earlier as never)).toMatchObject({ repeats: [] })
    const { plan } = harness.chain
    harness.chain.plan = async (...given) => ({ ...(await plan(...given)), feeMaxRaw: 10n ** 17n })
    await expect(harness.pay.kind.carryOut(owner as never, earlier as never)).rejects.toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining('the payment with its fee counts for'),
    })
    harness.chain.plan = plan
    const { charged_micro_usd: charged } = earlier as { charged_micro_usd: number }
    // The value may rise by two percent, rounded up to a whole millionth, and by no more.
    const most = Math.ceil((charged * 102) / 100)
    const carryOut = (microUsd: number) => {
      const fee = BigInt(microUsd - charged) * 10n ** 12n
      harness.chain.plan = async (...given) => {
        const planned = await plan(...given)
        return { ...planned, feeMaxRaw: planned.feeMaxRaw + fee }
      }
      return harness.pay.kind.carryOut(owner as never, earlier as never)
    }
    await expect(carryOut(most + 1)).rejects.toMatchObject({ code: 'conflict' })
    expect(await carryOut(most)).toContain('is sent')
  })
})

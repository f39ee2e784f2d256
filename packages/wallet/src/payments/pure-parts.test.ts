import { intentStates } from '@flotilla/protocol/wallet-payments'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plainSymbol } from '../chain/json-rpc.ts'
import { baseUnits, wholeUnits } from './amounts.ts'
import { moreThan } from './follow-payments.ts'
import { hasEnded, neverLanded, nextPollAfter, stateAfter } from './intent-record.ts'
import type { IntentNews } from './intent-record.ts'
import { describeAddress } from './judge-payees.ts'
import { imitatedBy } from './judge-tokens.ts'

const token = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const friend = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'

describe('an amount', () => {
  test('an amount survives conversion at any number of decimals', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.nat(36), (raw, decimals) => {
        fc.pre(String(raw).length - decimals <= 60)
        expect(baseUnits(wholeUnits(raw, decimals), decimals)).toBe(raw)
        expect(wholeUnits(raw, decimals)).not.toMatch(/\.\d*0$|\.$/)
      }),
    )
    expect([1n, 10n ** 18n, 25n * 10n ** 17n, -5n].map((raw) => wholeUnits(raw, 18))).toEqual([
      '0.000000000000000001',
      '1',
      '2.5',
      '-0.000000000000000005',
    ])
  })

  test.each(['', '-1', '+1', '1e3', '1,5', '.5', '5.', ' 1', '0x1', '1.2345678', '١'])(
    '%j is not an amount',
    (text) => {
      expect(() => baseUnits(text, 6)).toThrow(expect.objectContaining({ code: 'bad-request' }))
    },
  )
})

describe('a signed payment', () => {
  const landed = { kind: 'landed', succeeded: true, block: 1, final: false, effects: null } as const
  const news: readonly (readonly [string, IntentNews])[] = [
    ['taken', { kind: 'taken' }],
    ['missing', { kind: 'missing' }],
    ['waiting', { kind: 'waiting' }],
    ['landed', landed],
    ['final', { ...landed, final: true }],
    ['undone', { ...landed, final: true, succeeded: false }],
    ['replaced', { kind: 'replaced' }],
    ['expired', { kind: 'expired' }],
    ['cancelled', { kind: 'cancelled' }],
  ]
  const ends = {
    final: 'confirmed',
    undone: 'failed',
    replaced: 'replaced',
    expired: 'expired',
    cancelled: 'cancelled',
  }

  test.each([
    ['signed', { taken: 'sent', missing: 'signed', waiting: 'sent', landed: 'landed', ...ends }],
    ['sent', { taken: 'sent', missing: 'sent', waiting: 'sent', landed: 'landed', ...ends }],
    ['landed', { taken: 'landed', missing: 'sent', waiting: 'sent', landed: 'landed', ...ends }],
  ] as const)('a signed payment that is %s moves by what is learned of it', (state, expected) => {
    expect(Object.fromEntries(news.map(([name, one]) => [name, stateAfter(state, one)]))).toEqual(expected)
  })

  test('an ended payment stays ended, and is refunded only if it never lands', () => {
    const ended = intentStates.filter(hasEnded)
    expect(ended).toEqual(['confirmed', 'failed', 'replaced', 'expired', 'cancelled'])
    for (const state of ended) for (const [, one] of news) expect(stateAfter(state, one)).toBe(state)
    expect(intentStates.filter(neverLanded)).toEqual(['replaced', 'expired'])
  })

  test('a payment is polled soon while it is young, and at least every ten minutes', () => {
    expect([0, 60_000, 3_600_000, 1e9].map((age) => nextPollAfter(0, age) - age)).toEqual([
      2000, 6000, 360_000, 600_000,
    ])
  })
})

describe('what a transaction did', () => {
  const planned = {
    changes: [{ asset: token, raw: -100n }],
    payees: [],
    grants: [{ asset: token, spender: friend, raw: 50n, unlimited: false }],
  }
  const left = (raw: bigint) => ({ changes: [{ asset: token.toLowerCase(), raw }], payees: [], grants: [] })
  const grant = (spender: string, raw: bigint) => ({
    changes: [],
    payees: [],
    grants: [{ asset: token, spender, raw, unlimited: false }],
  })

  test('what left is within 2 % of the plan', () => {
    expect(
      [left(-100n), left(-102n), left(5n), grant(friend, 50n)].map((one) => moreThan(planned, one)),
    ).toEqual(Array(4).fill(null))
    for (const one of [left(-103n), grant(friend, 51n), grant(token, 1n)]) {
      expect(moreThan(planned, one)).toEqual(expect.any(String))
    }
    expect(moreThan({ ...planned, changes: [] }, left(-1n))).toContain('the simulation showed 0')
  })

  test('a payee or an unlimited allowance beyond the plan is detected', () => {
    const pays = (...payees: string[]) => ({ changes: [], payees, grants: [] })
    expect(moreThan(pays(friend, token), pays(friend.toLowerCase()))).toBeNull()
    expect(moreThan(pays(friend), pays(friend, token))).toBe(
      `${token} was paid, which the simulation did not show`,
    )
    const grants = (unlimited: boolean, raw: bigint) => ({
      changes: [],
      payees: [],
      grants: [{ asset: token, spender: friend, raw, unlimited }],
    })
    // An unlimited allowance is never part of a limited one, even if the balance is small.
    expect(moreThan(grants(false, 50n), grants(true, 5n))).toBe(
      `${friend} may take all of ${token}, which the simulation did not show`,
    )
    expect(moreThan(grants(true, 5n), grants(true, 500n))).toBeNull()
  })

  test('the coin counts where the chain reports it, and assets are compared by identity', () => {
    const coin = (raw: bigint) => ({ changes: [{ asset: null, raw }], payees: [], grants: [] })
    expect(moreThan(coin(-100n), coin(-102n))).toBeNull()
    expect(moreThan(coin(-100n), coin(-103n))).toBe(
      '103 base units of the coin left the address, and the simulation showed 100',
    )
    expect(moreThan(planned, coin(-1n))).toContain('the simulation showed 0')
    const [one, other] = [
      'So11111111111111111111111111111111111111112',
      'so11111111111111111111111111111111111111112',
    ]
    const holds = (asset: string) => ({ changes: [{ asset, raw: -5n }], payees: [], grants: [] })
    expect(moreThan(holds(one), holds(one))).toBeNull()
    expect(moreThan(holds(one), holds(other))).not.toBeNull()
  })
})

describe('an address', () => {
  const known = { names: { 'the bakery': friend }, paid: [token] }

  test("an address is shown by the owner's name for it, in any letter case", () => {
    expect(describeAddress(friend.toLowerCase(), known)).toEqual({
      words: `${friend.toLowerCase()} (the bakery)`,
      isNamed: true,
    })
    expect(describeAddress(token, known)).toEqual({ words: token, isNamed: false })
  })

  test('an address that begins and ends like a known one is shown with a warning', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-f]{32}$/), (middle) => {
        const alike = `0x${friend.slice(2, 6)}${middle}${friend.slice(-4)}`
        fc.pre(alike.toLowerCase() !== friend.toLowerCase())
        const { words, isNamed } = describeAddress(alike, known)
        expect(words).toContain('WARNING: this address begins and ends like the bakery')
        expect(isNamed).toBe(false)
      }),
    )
    const other = `0x${token.slice(2, 6)}${'0'.repeat(32)}${token.slice(-4)}`
    expect(describeAddress(other, known).words).toBe(
      `${other} (WARNING: this address begins and ends like ${token}, but differs)`,
    )
    const alike = `0x${friend.slice(2, 6)}${'0'.repeat(32)}${friend.slice(-4)}`
    expect(describeAddress(alike, known).words).toContain(`like the bakery (${friend}), but`)
  })

  test('an address that resembles a known one at only one end is shown without a warning', () => {
    for (const one of [
      `0x${token.slice(2, 6)}${'0'.repeat(36)}`,
      `0x${'0'.repeat(36)}${token.slice(-4)}`,
      `0x${token.slice(2, 5)}${'0'.repeat(33)}${token.slice(-4)}`,
    ])
      expect(describeAddress(one, known).words).toBe(one)
    // The warning applies in base 58 too, regardless of letter case.
    const mint = 'So11111111111111111111111111111111111111112'
    const solana = { names: { mint }, paid: [] }
    expect(describeAddress(`sO11${'2'.repeat(35)}1112`, solana).words).toContain('WARNING')
    expect(describeAddress(mint.toLowerCase(), solana).isNamed).toBe(false)
  })
})

describe('a token that calls itself', () => {
  const names = { USDC: friend, dao_treasury: token, WETX: token, MKR: token }

  test.each([
    ['USDC', 'USDC'],
    ['usdc', 'USDC'],
    ['U5DC', 'USDC'],
    ['USD.C', 'USDC'],
    // One letter of another alphabet.
    ['USD?', 'USDC'],
    ['?S?C', 'USDC'],
    ['ETH', 'ETH'],
    ['P0L', 'POL'],
    ['VVETX', 'WETX'],
    ['RNKR', 'MKR'],
    ['S0I', 'SOL'],
    ['DAO-Treasury', 'dao_treasury'],
  ])('the symbol %s is recognized as an imitation of %s', (symbol, name) => {
    expect(imitatedBy({ address: '0x01', symbol }, names)).toBe(name)
  })

  test.each(['USDT', 'USDC.e', 'WETH', 'USD', '?', '???', '???C', '', 'ETHX'])(
    'the symbol %j imitates no known token',
    (symbol) => {
      expect(imitatedBy({ address: '0x01', symbol }, names)).toBeNull()
    },
  )

  test("the owner's own name for a token is not an imitation", () => {
    expect(imitatedBy({ address: friend.toLowerCase(), symbol: 'USDC' }, names)).toBeNull()
  })
})

describe('a symbol', () => {
  test.each([
    ['USDX', 'USDX'],
    ['USD\u0421', 'USD?'],
    ['U\u200bSD\u202eC', 'USDC'],
    ['\uff35\uff33\uff24\uff23', 'USDC'],
    ['C\u0301', 'C'],
    ['\u00c7', 'C'],
    ['a b\n', 'ab'],
    ['x'.repeat(99), 'x'.repeat(20)],
  ])('the symbol %j is shown as %s', (text, shown) => expect(plainSymbol(text)).toBe(shown))
})

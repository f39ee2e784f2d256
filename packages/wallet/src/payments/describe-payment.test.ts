import { describe, expect, test } from 'vitest'
import { approvalReasons } from './approval-reasons.ts'
import { paymentLines, paymentSummary } from './describe-payment.ts'
import type { DescribedPayment } from './describe-payment.ts'
import { payeesOf } from './read-effects.ts'
import { imitationBy } from './value-assets.ts'

const [from, friend, other] = ['0x11', '0x22', '0x33'].map((one) => one.padEnd(42, one.slice(-1)))
const fee = { asset: null, symbol: 'ETH', words: '0.001 ETH (3 USD)', microUsd: 3_000_000 }
const sum = { asset: null, symbol: 'ETH', words: '1 ETH (3000 USD)', microUsd: 3_000_000_000 }

/** A transfer of one coin to a named address. */
function aPayment(changes: Partial<DescribedPayment> = {}): DescribedPayment {
  return {
    chain: 'ethereum',
    from: from ?? '',
    order: { do: 'transfer', to: friend ?? '', asset: null, raw: 1n } as never,
    plan: { warnings: [], simulation: { kind: 'moves' } } as never,
    effects: { changes: [], payees: [], grants: [] },
    payees: { paid: [friend ?? ''], others: [] },
    leaving: [sum],
    ordered: sum,
    grants: [],
    fee,
    chargedMicroUsd: sum.microUsd + fee.microUsd,
    imitations: [],
    compared: { names: { friend: friend ?? '' }, paid: [] },
    ...changes,
  }
}
const asked = { limitUsd: 5000, isKnownPayee: () => true }
const grant = { spender: other ?? '', asset: other ?? '', raw: 1n, unlimited: true } as const

describe('a person is asked first', () => {
  test('a payment below the limit to a known address needs no approval', () => {
    expect(approvalReasons(aPayment(), asked)).toEqual([])
  })

  test.each([
    ['what counts for more than the limit', aPayment(), /more than 100 USD/, { limitUsd: 100 }],
    [
      'an address that was never paid and has no name',
      aPayment({ payees: { paid: [other ?? ''], others: [] } }),
      /was never paid before/,
      { isKnownPayee: () => false },
    ],
    ['all of a token', aPayment({ grants: [{ ...sum, grant }] }), /take all of a token/, {}],
    ['an unknown call', aPayment({ effects: null }), /are unknown/, {}],
    ['a token like another', aPayment({ imitations: ['the token x'] }), /the token x/, {}],
  ])('a person must approve %s', (...[, payment, reason, limits]) => {
    expect(approvalReasons(payment, { ...asked, ...limits })).toEqual([expect.stringMatching(reason)])
  })
})

test('the summary of a payment also contains its allowances', () => {
  expect(paymentSummary(aPayment({ grants: [{ ...sum, grant }] }))).toBe(
    `pay 1 ETH (3000 USD) to ${friend} on ethereum, and lets ${other} take ALL of the token ${other}`,
  )
})

test('a payment of a token that may take more than was ordered names both amounts', () => {
  const all = { ...sum, words: '999.75 of the token T (999.75 USD)' }
  const payment = aPayment({ leaving: [all], ordered: { ...sum, words: '0.35 of the token T (0.35 USD)' } })
  expect(paymentSummary(payment)).toBe(
    `pay 0.35 of the token T (0.35 USD) to ${friend} on ethereum, for which 999.75 of the token T (999.75 USD) may leave`,
  )
  expect(paymentLines(payment)).toContain(
    'Ordered is 0.35 of the token T (0.35 USD); the token may take another amount.',
  )
})

test('an address that a payment only names is distinguished from one that it pays', () => {
  const lines = paymentLines(
    aPayment({ payees: { paid: [friend ?? '', other ?? ''], others: [other ?? ''] } }),
  )
  expect(lines.filter((line) => line.startsWith('The call also'))).toEqual([
    expect.stringContaining('The call also names'),
  ])
})

test('a payment with more payees than a person can review is refused', () => {
  const payees = Array.from({ length: 21 }, (_, at) => `0x${at.toString(16).padStart(40, '0')}`)
  const { order, plan } = aPayment()
  const effects = { changes: [], payees: payees.slice(1), grants: [] }
  expect(
    payeesOf('ethereum', { order, plan, effects: { ...effects, payees: payees.slice(2) } }).paid,
  ).toHaveLength(20)
  expect(() => payeesOf('ethereum', { order, plan, effects })).toThrow(
    expect.objectContaining({ code: 'not-simulated' }),
  )
})

test('a token that imitates an owner-known one is flagged, and the known token itself is not', () => {
  const on = { name: 'ethereum', ownNames: { SHOP: friend ?? '' } } as const
  expect(imitationBy(on, { token: other ?? '', symbol: 'SHOP' })).toMatch(/is not the SHOP that you know/)
  expect(imitationBy(on, { token: other ?? '', symbol: 'MINE' })).toBeNull()
})

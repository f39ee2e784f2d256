import { describe, expect, test } from 'vitest'
import { addressesIn, isTold, misreportedIn, tokensOf, unseenIn, worst } from './evm-measured.ts'
import type { Measured } from './evm-measured.ts'
import type { Effects } from './paying-chain.ts'

const mine = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const friend = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc'
const token = '0x15d34aaf54267db7d7c367839aaf71a00a2c6a65'
const other = '0x90f79bf6eb2c4f870365e785982e1f101e93b906'

describe('the addresses in a call', () => {
  const word = (value: bigint | string) => BigInt(value).toString(16).padStart(64, '0')
  const named = (...words: (bigint | string)[]) =>
    addressesIn({ from: mine, data: `0x12345678${words.map(word).join('')}` })

  test('the addresses in a call are its words that can be addresses, each once, without the sender', () => {
    expect(named(friend, 7n, token, friend, mine)).toEqual([friend, token])
    expect(named(2n ** 96n, 2n ** 160n - 1n)).toEqual([
      `0x${'1'.padStart(16, '0')}${'0'.repeat(24)}`,
      `0x${'f'.repeat(40)}`,
    ])
    // Amounts, and values longer than an address.
    expect(named(2n ** 96n - 1n, 2n ** 160n, 2n ** 256n - 1n)).toEqual([])
  })

  test('the addresses in a call include those of nested calls, which are not aligned to words', () => {
    const bytes = (call: string) => {
      const length = word(BigInt(call.length / 2))
      return `${word(32n)}${length}${call.padEnd(Math.ceil(call.length / 64) * 64, '0')}`
    }
    const inner = (...words: (bigint | string)[]) => `aabbccdd${words.map(word).join('')}`
    const within = (call: string) => addressesIn({ from: mine, data: `0x12345678${bytes(call)}` })
    expect(within(inner(friend, 5n))).toEqual([friend])
    expect(within(`12345678${bytes(inner(other, 2n))}`)).toEqual([other])
    // Nesting this deep is not written by hand; payees in it are found by what moves.
    const nested = (depth: number): string =>
      depth === 0 ? inner(other) : `12345678${bytes(nested(depth - 1))}`
    expect(within(nested(3))).toContain(other)
    expect(within(nested(4))).not.toContain(other)
    // Any word may be a length, so an amount of 36 cannot hide the address after it.
    expect(named(36n, friend, 5n)).toEqual([friend])
    // A length beyond the remaining data, and bytes that are not a call.
    expect(addressesIn({ from: mine, data: `0x12345678${word(36n)}aabbccdd` })).toEqual([])
    expect(within(word(friend))).toEqual([friend])
  })

  test('bytes that are not a call, or shorter than their stated length, contain no addresses', () => {
    const split = `aabbccdd${word(friend)}`
    const read = (length: bigint, bytes: string) =>
      addressesIn({ from: mine, data: `0x12345678${word(length)}${bytes}` })
    expect(read(36n, split)).toEqual([friend])
    expect(read(68n, split)).toEqual([])
    expect(read(64n, split.padEnd(128, '0'))).toEqual([])
  })

  test('a coin payment or a truncated word contains no addresses', () => {
    expect(addressesIn({ from: mine, data: '0x' })).toEqual([])
    expect(addressesIn({ from: mine, data: `0x12345678${word(friend).slice(1)}` })).toEqual([])
  })
})

const effects = (more: Partial<Effects>): Effects => ({ changes: [], payees: [], grants: [], ...more })

test('tokens to query are those called, moved or approved, each once and never the coin', () => {
  const seen = effects({
    changes: [
      { asset: null, raw: -1n },
      { asset: other, raw: -1n },
    ],
    grants: [{ asset: friend, spender: mine, raw: 1n, unlimited: false }],
  })
  expect(tokensOf({ to: token.toUpperCase().replace('X', 'x'), data: '0x00' }, seen)).toEqual([
    token,
    other,
    friend,
  ])
  expect(tokensOf({ to: token, data: '0x' }, seen)).toEqual([other, friend])
})

describe('the worse of logs and balances', () => {
  const pair = (before: bigint | null, after: bigint | null) => ({ before, after })
  const measured = (
    seen: Effects,
    held: Readonly<Record<string, { before: bigint | null; after: bigint | null }>>,
    allowed: Readonly<Record<string, { before: bigint | null; after: bigint | null }>> = {},
  ) => {
    const all: Measured = {
      held: new Map(Object.entries(held)),
      allowed: new Map(Object.entries(allowed)),
      token,
    }
    return worst(seen, all)
  }
  const lost = (raw: bigint) => effects({ changes: [{ asset: token, raw }], payees: [friend] })

  test('of logs and balances the one with less left counts, also for tokens without logs', () => {
    expect(measured(lost(-5n), { [token]: pair(10n, 4n) })).toEqual(lost(-6n))
    expect(measured(lost(-5n), { [token]: pair(10n, 6n) })).toEqual(lost(-5n))
    expect(measured(effects({}), { [token]: pair(10n, 4n), [other]: pair(3n, 3n) }).changes).toEqual([
      { asset: token, raw: -6n },
    ])
    expect(measured(effects({}), { [token]: pair(4n, 10n) }).changes).toEqual([{ asset: token, raw: 6n }])
    // A log of an incoming transfer is ignored if the balance did not rise.
    expect(measured(lost(9n), { [token]: pair(4n, 4n) }).changes).toEqual([])
  })

  test('logs count where a contract reports no balance before the call, and all where it reports none after it', () => {
    for (const half of [pair(null, 4n), pair(null, null)]) {
      expect(measured(lost(-5n), { [token]: half })).toEqual(lost(-5n))
    }
    for (const half of [pair(null, 4n), pair(10n, null), pair(null, null)]) {
      expect(measured(lost(-5n), {}, { [friend]: half })).toEqual(lost(-5n))
    }
    expect(measured(lost(-5n), { [token]: pair(10n, null) })).toEqual(lost(-10n))
    expect(measured(lost(-5n), { [token]: pair(3n, null) })).toEqual(lost(-5n))
  })

  test('every spender whose allowance rises counts, with the larger of log and query', () => {
    const grant = (raw: bigint, unlimited = false) => ({ asset: token, spender: friend, raw, unlimited })
    const grants = (...all: ReturnType<typeof grant>[]) => effects({ grants: all })
    expect(measured(grants(), {}, { [friend]: pair(0n, 9n) })).toEqual(grants(grant(9n)))
    expect(measured(grants(grant(5n)), {}, { [friend]: pair(0n, 9n) })).toEqual(grants(grant(9n)))
    expect(measured(grants(grant(12n)), {}, { [friend]: pair(0n, 9n) })).toEqual(grants(grant(12n)))
    // An existing allowance is not an effect of this call; a logged one stays.
    for (const after of [9n, 3n]) {
      expect(measured(grants(), {}, { [friend]: pair(9n, after) })).toEqual(grants())
      expect(measured(grants(grant(5n)), {}, { [friend]: pair(9n, after) })).toEqual(grants(grant(5n)))
    }
    const half = 2n ** 255n
    expect(measured(grants(), {}, { [friend]: pair(0n, half) })).toEqual(grants(grant(half, true)))
    expect(measured(grants(), {}, { [friend]: pair(0n, half - 1n) })).toEqual(grants(grant(half - 1n)))
    // All was already allowed in another way, such as Permit2.
    expect(measured(grants(grant(5n, true)), {}, { [friend]: pair(0n, 9n) })).toEqual(grants(grant(9n, true)))
  })

  test('an unlimited allowance counts for the larger balance before or after the call', () => {
    const all = (raw: bigint) =>
      effects({ grants: [{ asset: token, spender: friend, raw, unlimited: true }] })
    const grantsOf = (before: bigint | null, after: bigint | null) =>
      measured(all(99n), { [token]: pair(before, after) }).grants
    expect(grantsOf(10n, 4n)).toEqual(all(10n).grants)
    expect(grantsOf(4n, 10n)).toEqual(all(10n).grants)
    expect(grantsOf(null, 10n)).toEqual(all(99n).grants)
    expect(grantsOf(10n, null)).toEqual(all(99n).grants)
    expect(measured(all(99n), {}).grants).toEqual(all(99n).grants)
    // A limited allowance keeps its amount at any balance.
    const part = effects({ grants: [{ asset: token, spender: friend, raw: 5n, unlimited: false }] })
    expect(measured(part, { [token]: pair(10n, 10n) }).grants).toEqual(part.grants)
  })
})

describe('contracts that do not report what a call does there', () => {
  const log = { address: other, topics: [], data: '0x' }
  const loses = (asset: string, raw: bigint) => effects({ changes: [{ asset, raw }] })
  const unseen = (
    given: {
      readonly to?: string
      readonly data?: string
      readonly logs?: readonly (typeof log)[]
      readonly seen?: Effects
      readonly effects?: Effects
    },
    held: Readonly<Record<string, readonly [bigint | null, bigint | null]>> = {},
  ) => {
    const { to = other, data = '0x12345678', logs = [log], seen = effects({}) } = given
    const pairs = new Map(
      Object.entries(held).map(([asset, [before, after]]) => [asset, { before, after }] as const),
    )
    return unseenIn({ to, data }, { logs, seen, effects: given.effects ?? seen, held: pairs })
  }

  test('a token that loses more than it logs is named if another contract is called', () => {
    expect(unseen({}, { [token]: [10n, 4n] })).toEqual([token])
    expect(unseen({ seen: loses(token, -5n) }, { [token]: [10n, 4n] })).toEqual([token])
    expect(unseen({ seen: loses(token, -6n) }, { [token]: [10n, 4n] })).toEqual([])
    expect(unseen({}, { [token]: [4n, 10n], [friend]: [4n, 4n] })).toEqual([])
    // A token of which less arrives than its log states is no loss.
    expect(unseen({ seen: loses(token, 5n) }, { [token]: [4n, 4n] })).toEqual([])
    expect(unseen({ to: token.toUpperCase().replace('X', 'x') }, { [token]: [10n, 4n] })).toEqual([])
  })

  test('a token whose balance is unknown after the call is named, also if it is called itself', () => {
    expect(unseen({ to: token }, { [token]: [10n, null] })).toEqual([token])
    expect(unseen({}, { [token]: [0n, null], [friend]: [null, null] })).toEqual([])
  })

  test('a called contract that logs nothing and shows no change is named, except for amounts in arguments', () => {
    expect(unseen({ logs: [] })).toEqual([other])
    expect(unseen({ logs: [], data: '0x' })).toEqual([])
    expect(unseen({ logs: [], effects: loses(other, -1n) })).toEqual([])
    expect(unseen({ logs: [], effects: loses(token, -1n) })).toEqual([other])
    const grant = { asset: other, spender: friend, raw: 1n, unlimited: false }
    expect(unseen({ logs: [], effects: effects({ grants: [grant] }) })).toEqual([])
    for (const selector of ['a9059cbb', '23b872dd', '095ea7b3', '39509351']) {
      expect(unseen({ logs: [], data: `0x${selector}${'0'.repeat(128)}` })).toEqual([])
    }
  })

  test('logs of the coin say nothing of a contract', () => {
    expect(isTold(token, effects({ changes: [{ asset: null, raw: -1n }] }))).toBe(false)
    expect(isTold(token.toUpperCase().replace('X', 'x'), loses(token, 1n))).toBe(true)
  })

  test('a balance is misreported where it is worse than the logs', () => {
    const held = new Map([[token, { before: 4n, after: 4n }]])
    expect(misreportedIn(loses(token, 1n), held)).toEqual([{ asset: token, change: 0n }])
    expect(misreportedIn(effects({}), held)).toEqual([])
    expect(misreportedIn(effects({}), new Map([[token, undefined]]))).toEqual([])
  })
})

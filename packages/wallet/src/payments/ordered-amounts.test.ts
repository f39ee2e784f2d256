import { describe, expect, test } from 'vitest'
import type { Effects } from '../chain/paying-chain.ts'
import { atLeastOrdered, isSameAsset, orderedAmounts } from './ordered-amounts.ts'

const from = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const friend = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const token = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const other = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const permit2Approve = 'approve(address,address,uint160,uint48)'

const ordered = (called: string, args: readonly unknown[]) =>
  orderedAmounts({ do: 'call', contract: token, call: { function: called, args }, raw: 0n }, { from, called })
const nothing = { moves: [], lets: [] }

describe('the amounts in the arguments of a call', () => {
  test.each(['transfer(address to,uint256 raw)', 'transfer(address   to , uint256  raw)'])(
    'the names of parameters in %j are left out',
    (called) => {
      expect(ordered(called, [friend, '5']).moves).toEqual([{ asset: token, to: friend, raw: 5n }])
    },
  )

  test.each([
    ['transfer(address,uint256)', [7, '5']],
    ['transferFrom(address,address,uint256)', [7, friend, '5']],
    ['transferFrom(address,address,uint256)', [other, friend, '5']],
    ['approve(address,uint256)', [7, '5']],
    [permit2Approve, [7, friend, '5', '1']],
    [permit2Approve, [token, 7, '5', '1']],
    ['transferFrom(address,address,uint160,address)', [from, friend, '5', 7]],
    ['transferFrom(address,address,uint160,address)', [from, 7, '5', token]],
    ['constructor', [friend, '5']],
  ])('%s of %j states nothing', (called, args) => {
    expect(ordered(called, args)).toEqual(nothing)
  })

  test.each([
    '0',
    0,
    'abc',
    '',
    '1.5',
    ' 5',
    '5 ',
    '0x10',
    '-5',
    1.5,
    -5,
    2 ** 53,
    ['5'],
    null,
    '9'.repeat(79),
  ])('the amount %j orders nothing', (amount) => {
    expect(ordered('transfer(address,uint256)', [friend, amount])).toEqual(nothing)
    expect(ordered('approve(address,uint256)', [friend, amount])).toEqual(nothing)
  })

  test.each(['5', 5, '005'])('the amount %j is five', (amount) => {
    expect(ordered('transfer(address,uint256)', [friend, amount]).moves).toMatchObject([{ raw: 5n }])
    expect(ordered('approve(address,uint256)', [friend, amount]).lets).toMatchObject([{ raw: 5n }])
  })
})

test('an asset is the same in any spelling of its address, and the coin is no token', () => {
  expect(isSameAsset(token, token.toLowerCase())).toBe(true)
  expect(isSameAsset(token, other)).toBe(false)
  expect(isSameAsset(null, null)).toBe(true)
  expect(isSameAsset(token, null)).toBe(false)
  expect(isSameAsset(null, token)).toBe(false)
})

describe('an ordered allowance', () => {
  const grant = (asset: string, spender: string, raw: bigint) => ({ asset, spender, raw, unlimited: false })
  const lets = (...grants: Effects['grants'][number][]): Effects => ({ changes: [], payees: [], grants })
  const orders = { moves: [], lets: [{ asset: token, spender: friend, raw: 5n }] }

  test('an ordered allowance is the one of its token and its spender', () => {
    const others = [grant(other, friend, 9n), grant(token, other, 9n)]
    expect(atLeastOrdered(lets(...others), orders)).toEqual({
      effects: lets(...others, grant(token, friend, 5n)),
      short: [token],
    })
  })

  test.each([5n, 6n])('a simulated allowance of %i covers an ordered one of five', (raw) => {
    const seen = lets(grant(token.toLowerCase(), friend.toLowerCase(), raw))
    expect(atLeastOrdered(seen, orders)).toEqual({ effects: seen, short: [] })
  })

  test('a simulated allowance of four is raised to an ordered one of five', () => {
    expect(atLeastOrdered(lets(grant(token, friend, 4n)), orders)).toEqual({
      effects: lets(grant(token, friend, 5n)),
      short: [token],
    })
  })
})

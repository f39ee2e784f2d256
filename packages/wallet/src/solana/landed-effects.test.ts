import { describe, expect, test } from 'vitest'
import { landedEffects } from './landed-effects.ts'
import type { TransactionRecord } from './solana-calls.ts'

const [payer, shop, mint] = ['payer', 'shop', 'mint']
type Meta = NonNullable<TransactionRecord['meta']>
const held = (owner: string, amount: bigint) => ({ mint, owner, uiTokenAmount: { amount } })

function record(meta: Partial<Meta> | null, accountKeys = [payer, shop]): TransactionRecord {
  return {
    meta:
      meta === null
        ? null
        : { err: null, fee: 5n, preBalances: [100n, 0n], postBalances: [95n, 0n], ...meta },
    transaction: { message: { accountKeys, header: { numRequiredSignatures: 1 } } },
  }
}

describe('what a transaction did', () => {
  const changes = (meta: Partial<Meta>) => landedEffects(record(meta), payer)?.changes

  test("a landed transaction's effect is the payer's decrease without the fee", () => {
    expect(changes({})).toEqual([])
    expect(changes({ postBalances: [65n, 30n] })).toEqual([{ asset: null, raw: -30n }])
    expect(changes({ postBalances: [115n, 0n] })).toEqual([{ asset: null, raw: 20n }])
  })

  test("a landed transaction's effect is summed over all token accounts of the payer only", () => {
    const before = { preTokenBalances: [held(payer, 70n), held(payer, 5n), held(shop, 1n)] }
    expect(
      changes({ ...before, postTokenBalances: [held(payer, 60n), held(payer, 5n), held(shop, 11n)] }),
    ).toEqual([{ asset: mint, raw: -10n }])
    // A closed account is missing after it, and a new one before it.
    expect(changes({ ...before, postTokenBalances: null })).toEqual([{ asset: mint, raw: -75n }])
    expect(changes({ preTokenBalances: null, postTokenBalances: [held(payer, 3n)] })).toEqual([
      { asset: mint, raw: 3n },
    ])
  })

  test("a landed transaction's effect is unknown without a record, or for another payer", () => {
    expect(landedEffects(null, payer)).toBeNull()
    expect(landedEffects(record(null), payer)).toBeNull()
    expect(landedEffects(record({}, [shop, payer]), payer)).toBeNull()
    expect(landedEffects(record({ preBalances: [] }), payer)).toBeNull()
    expect(landedEffects(record({ postBalances: [] }), payer)).toBeNull()
  })
})

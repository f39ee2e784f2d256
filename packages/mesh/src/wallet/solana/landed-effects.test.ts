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

  test('is what its payer has less, the fee aside', () => {
    expect(changes({})).toEqual([])
    expect(changes({ postBalances: [65n, 30n] })).toEqual([{ asset: null, raw: -30n }])
    expect(changes({ postBalances: [115n, 0n] })).toEqual([{ asset: null, raw: 20n }])
  })

  test('is summed over all accounts of a token that the payer has, and no one else', () => {
    const before = { preTokenBalances: [held(payer, 70n), held(payer, 5n), held(shop, 1n)] }
    expect(
      changes({ ...before, postTokenBalances: [held(payer, 60n), held(payer, 5n), held(shop, 11n)] }),
    ).toEqual([{ asset: mint, raw: -10n }])
    // An account that is closed stands there no more, and a new one did not stand there before.
    expect(changes({ ...before, postTokenBalances: null })).toEqual([{ asset: mint, raw: -75n }])
    expect(changes({ preTokenBalances: null, postTokenBalances: [held(payer, 3n)] })).toEqual([
      { asset: mint, raw: 3n },
    ])
  })

  test('is not known where the chain wrote nothing down, or of another payer', () => {
    expect(landedEffects(null, payer)).toBeNull()
    expect(landedEffects(record(null), payer)).toBeNull()
    expect(landedEffects(record({}, [shop, payer]), payer)).toBeNull()
    expect(landedEffects(record({ preBalances: [] }), payer)).toBeNull()
    expect(landedEffects(record({ postBalances: [] }), payer)).toBeNull()
  })
})

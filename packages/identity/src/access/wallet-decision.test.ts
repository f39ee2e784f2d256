import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { describe, expect, test } from 'vitest'
import { decideWalletSpend, decideWalletUse } from './wallet-decision.ts'

const mine = `0x${'aB'.repeat(20)}`
const another = `0x${'cD'.repeat(20)}`

function decide(entries: readonly string[], contract: string | null) {
  const record = permissionRecordSchema.parse({
    can_use_wallet: true,
    wallet_allowed_chains: ['ethereum'],
    wallet_allowed_contracts: entries,
  })
  return decideWalletSpend(record, {
    do: 'spend-from-wallet',
    chain: 'ethereum',
    contract,
    valueUsd: 1,
    spentTodayUsd: 0,
    spendsLastHour: 0,
    makers: [],
    fleet: { perTxUsd: 0, dailyUsd: 0, perHour: 0 },
  })
}

describe('a contract that money goes to', () => {
  test('a contract that money goes to is the one that is listed, in whatever case its letters are', () => {
    for (const contract of [mine, mine.toLowerCase()]) expect(decide([mine], contract).allowed).toBe(true)
    expect(decide([mine.toLowerCase()], mine).allowed).toBe(true)
  })

  test.each([
    ['another address', [mine], another],
    ['one that is longer', [mine], `${mine}0`],
    ['one that is written inside another word', [`x${mine}`], `X${mine}`],
    ['one with more behind it', [`${mine}z`], `${mine}Z`],
    ['a word beside an address', [mine], 'contract'],
    ['the same letters in another case where they are no address', ['Contract'], 'contract'],
    ['any, with an empty list', [], mine],
  ])(
    'a contract that money goes to does not match %s, because an agent could otherwise pay an unlisted address',
    (_what, entries, contract) => {
      expect(decide(entries, contract)).toMatchObject({ allowed: false, field: 'wallet_allowed_contracts' })
    },
  )

  test('a contract that money goes to is any with a star, and none is asked for with a plain transfer', () => {
    expect(decide(['*'], another).allowed).toBe(true)
    expect(decide([], null).allowed).toBe(true)
  })
})

test('a chain that is not listed is refused by its field, and a wallet that is not given by its own', () => {
  const record = (fields: object) => permissionRecordSchema.parse(fields)
  expect(decideWalletUse(record({ wallet_allowed_chains: ['*'] }), { chain: 'ethereum' })).toMatchObject({
    allowed: false,
    field: 'can_use_wallet',
  })
  expect(decideWalletUse(record({ wallet_allowed_chains: [] }), { chain: 'ethereum' })).toMatchObject({
    field: 'can_use_wallet',
  })
  expect(
    decideWalletUse(record({ can_use_wallet: true, wallet_allowed_chains: ['solana'] }), {
      chain: 'ethereum',
    }),
  ).toMatchObject({ allowed: false, field: 'wallet_allowed_chains' })
})

test('a contract is asked where it is listed, behind the wallet and the chain', () => {
  const use = (more: object, contract: string | null) =>
    decideWalletUse(
      permissionRecordSchema.parse({ can_use_wallet: true, wallet_allowed_chains: ['ethereum'], ...more }),
      { chain: 'ethereum', contract },
    )
  expect(use({ wallet_allowed_contracts: [mine] }, mine.toLowerCase()).allowed).toBe(true)
  expect(use({}, null).allowed).toBe(true)
  expect(use({}, mine)).toMatchObject({ allowed: false, field: 'wallet_allowed_contracts' })
  expect(use({ wallet_allowed_chains: [] }, mine)).toMatchObject({ field: 'wallet_allowed_chains' })
  expect(use({ can_use_wallet: false }, mine)).toMatchObject({ field: 'can_use_wallet' })
})

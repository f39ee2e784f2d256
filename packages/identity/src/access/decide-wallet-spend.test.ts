import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { describe, expect, test } from 'vitest'
import type { WalletSpend } from './action.ts'
import { decideMakersSpend, decideWalletSpend, decideWalletUse } from './decide-wallet-spend.ts'
import { boundByFleet } from './effective-wallet-limits.ts'

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

  test('an address without 0x is the one that is listed in the same case only', () => {
    const mint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
    expect(decide([mint], mint).allowed).toBe(true)
    expect(decide([mint], mint.toLowerCase()).allowed).toBe(false)
  })

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

describe('limits of what an agent spends', () => {
  const wallet = { can_use_wallet: true, wallet_allowed_chains: ['ethereum'] }
  const record = (fields: object) => permissionRecordSchema.parse({ ...wallet, ...fields })
  const spend = (more: Partial<WalletSpend>): WalletSpend => ({
    do: 'spend-from-wallet',
    chain: 'ethereum',
    contract: null,
    valueUsd: 6,
    spentTodayUsd: 0,
    spendsLastHour: 0,
    makers: [],
    fleet: { perTxUsd: 0, dailyUsd: 0, perHour: 0 },
    ...more,
  })
  const limits = [
    [
      'wallet_spend_limit_per_tx_usd',
      'the limit is 5 US dollars for one transfer, and this transfer counts for 6',
      'perTxUsd',
    ],
    [
      'wallet_spend_limit_daily_usd',
      'the limit is 5 US dollars a day, 0 are spent today, and this transfer counts for 6',
      'dailyUsd',
    ],
    [
      'wallet_rate_limit_per_hour',
      'the limit is 5 transfers an hour, and 5 were made in the last hour',
      'perHour',
    ],
  ] as const

  test.each(limits)(
    'the limit %s of a record, or of the fleet where it is 0, refuses by name',
    (field, words, ofFleet) => {
      const asked = spend({ spendsLastHour: 5 })
      const refused = { allowed: false, field, reason: `${field}: ${words}` }
      expect(decideWalletSpend(record({ [field]: 5 }), asked)).toMatchObject(refused)
      expect(decideWalletSpend(record({ [field]: 7 }), asked).allowed).toBe(true)
      expect(decideWalletSpend(record({}), asked).allowed).toBe(true)
      const fleet = { ...asked.fleet, [ofFleet]: 5 }
      expect(decideWalletSpend(record({ [field]: 0 }), { ...asked, fleet })).toMatchObject(refused)
      // A limit in the agent's own permission record applies instead of the fleet's.
      expect(decideWalletSpend(record({ [field]: 7 }), { ...asked, fleet }).allowed).toBe(true)
    },
  )

  test('an agent without a wallet is refused by that, also for a value that is unknown', () => {
    expect(decideWalletSpend(record({ can_use_wallet: false }), spend({ valueUsd: NaN }))).toMatchObject({
      allowed: false,
      field: 'can_use_wallet',
    })
    for (const unknown of [
      { valueUsd: NaN },
      { valueUsd: Infinity },
      { valueUsd: -1 },
      { spentTodayUsd: NaN },
    ]) {
      expect(decideWalletSpend(record({}), spend(unknown))).toMatchObject({ allowed: false, field: null })
    }
    expect(decideWalletSpend(record({}), spend({ valueUsd: 0 })).allowed).toBe(true)
  })

  test('a maker is judged by what it and its descendants spent, by its own limits, the nearest first', () => {
    const asked = spend({
      makers: [
        { agentId: 'lead', spentTodayUsd: 3, spendsLastHour: 1 },
        { agentId: 'chief', spentTodayUsd: 90, spendsLastHour: 9 },
      ],
    })
    const decide = (records: Readonly<Record<string, object>>) =>
      decideMakersSpend((id) => (id in records ? record(records[id] ?? {}) : undefined), asked)
    expect(decide({ lead: {}, chief: {} })).toBe(null)
    expect(
      decide({ lead: { wallet_spend_limit_daily_usd: 9 }, chief: { wallet_spend_limit_daily_usd: 96 } }),
    ).toBe(null)
    expect(decide({ lead: { wallet_spend_limit_daily_usd: 8 }, chief: {} })).toMatchObject({
      allowed: false,
      field: 'wallet_spend_limit_daily_usd',
      reason:
        'wallet_spend_limit_daily_usd: the limit is 8 US dollars a day by lead and the agents it made, 3 are spent today, and this transfer counts for 6',
    })
    expect(decide({ lead: {}, chief: { wallet_rate_limit_per_hour: 9 } })).toMatchObject({
      reason: expect.stringContaining('by chief and the agents it made'),
    })
    expect(decide({ chief: {} })).toMatchObject({
      allowed: false,
      field: null,
      reason: 'its maker lead has no permission record',
    })
  })

  test('a record that leaves no limit to the fleet is returned as it is', () => {
    const own = record({ wallet_spend_limit_daily_usd: 5 })
    expect(boundByFleet(own, [])).toBe(own)
    expect(Object.keys(boundByFleet(own, ['wallet_spend_limit_daily_usd']))).toEqual(Object.keys(own))
  })
})

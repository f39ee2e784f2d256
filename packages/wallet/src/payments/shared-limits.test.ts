import * as fc from 'fast-check'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import { migrate } from '../../../foundation/src/storage/migrate.ts'
import { allMigrations } from '../../../foundation/src/storage/migrations/all-migrations.ts'
import { openDatabase } from '../../../foundation/src/storage/database.ts'
import { aPaymentsHarness, scout } from '../../../testing/src/payments-harness.ts'
import { boundedRecord } from '../../../identity/src/access/within-parent.ts'
import { createChargeTable } from './charge-table.ts'

const names = ['root', 'a', 'b', 'c', 'd', 'e'] as const
/** What the chain in memory asks for each payment, in millionths of a US dollar. */
const feeMicroUsd = 1

interface Limits {
  readonly daily: number
  readonly hourly: number
}

const recordWith = ({ daily, hourly }: Limits): PermissionRecord =>
  permissionRecordSchema.parse({
    can_use_wallet: true,
    wallet_allowed_chains: ['base'],
    wallet_spend_limit_daily_usd: daily,
    wallet_rate_limit_per_hour: hourly,
  })

/** A fleet whose agents made each other, with payments that one address signs. */
function aFleet(
  limits: Readonly<Record<string, Limits>>,
  makers: Readonly<Record<string, string>>,
  ofFleet: Limits,
) {
  const records = new Map(Object.entries(limits).map(([name, of]) => [name, recordWith(of)]))
  const living = new Map(Object.entries(makers))
  const makerOf = (agentId: string) => living.get(agentId) ?? null
  const harness = aPaymentsHarness({
    fleet: { recordOf: (id) => boundedRecord(id, (one) => records.get(one), makerOf), makerOf },
    wallet: {
      approve_above_usd: 1_000_000,
      spend_limit_per_tx_usd: 0,
      spend_limit_daily_usd: ofFleet.daily,
      rate_limit_per_hour: ofFleet.hourly,
    },
  })
  const fleet = {
    ...harness,
    chainOf: (agentId: string): string[] => {
      const maker = makerOf(agentId)
      return maker === null ? [agentId] : [agentId, ...fleet.chainOf(maker)]
    },
    /** Deletes an agent as the mesh does: its record, its row and its children. */
    remove: (agentId: string): void => {
      for (const [child, maker] of living) if (maker === agentId) fleet.remove(child)
      living.delete(agentId)
      records.delete(agentId)
    },
    isLiving: (agentId: string) => records.has(agentId),
    pays: async (agentId: string, usd: number): Promise<string> => {
      try {
        return (await harness.send(String(usd), { as: { ...scout, agentId } })).state
      } catch (error) {
        if (!(error instanceof Problem) || error.code !== 'denied') throw error
        const { field } = error.extra
        return typeof field === 'string' ? field : 'denied'
      }
    },
  }
  return fleet
}

test('what two children spend together counts against the daily limit of the agent that made them', async () => {
  const own = { daily: 10, hourly: 0 }
  const fleet = aFleet({ root: own, a: own, b: own }, { a: 'root', b: 'root' }, { daily: 0, hourly: 0 })
  expect(await fleet.pays('a', 6)).toBe('paid')
  expect(await fleet.pays('b', 6)).toBe('wallet_spend_limit_daily_usd')
  expect(await fleet.pays('root', 6)).toBe('wallet_spend_limit_daily_usd')
  expect(await fleet.pays('b', 3)).toBe('paid')
})

test('two children that pay at the same moment share the limit, and one of them is refused', async () => {
  const own = { daily: 10, hourly: 0 }
  const fleet = aFleet({ root: own, a: own, b: own }, { a: 'root', b: 'root' }, { daily: 0, hourly: 0 })
  const ends = await Promise.all([fleet.pays('a', 6), fleet.pays('b', 6)])
  expect(ends.toSorted()).toEqual(['paid', 'wallet_spend_limit_daily_usd'])
})

test('a maker whose limit is 0 has the limit of the fleet, for itself and its descendants together', async () => {
  const none = { daily: 0, hourly: 0 }
  const fleet = aFleet({ root: none, a: none, b: none }, { a: 'root', b: 'a' }, { daily: 10, hourly: 2 })
  expect(await fleet.pays('b', 4)).toBe('paid')
  expect(await fleet.pays('root', 7)).toBe('wallet_spend_limit_daily_usd')
  expect(await fleet.pays('root', 4)).toBe('paid')
  expect(await fleet.pays('a', 1)).toBe('wallet_rate_limit_per_hour')
})

test('what a deleted child spent still counts for the agent that made it', async () => {
  const own = { daily: 10, hourly: 0 }
  const fleet = aFleet({ root: own, a: own }, { a: 'root' }, { daily: 0, hourly: 0 })
  expect(await fleet.pays('a', 6)).toBe('paid')
  fleet.remove('a')
  expect(await fleet.pays('root', 6)).toBe('wallet_spend_limit_daily_usd')
})

test('payments of an earlier release count for the makers that still exist', () => {
  const database = openDatabase(':memory:')
  const before = allMigrations.filter(({ name: step }) => step !== 'wallet-charges')
  migrate(database, before)
  const insert = database.prepare(
    `INSERT INTO wallet_intents (id, key, agent_id, chain, sender, recipient, place, tx_id, signed_bytes, words, effects,
       payees, charged_micro_usd, signed_at, state, note, looks, next_look_at)
     VALUES (?, ?, ?, 'base', 's', 'r', '{}', ?, '', '', 'null', '[]', ?, ?, 'confirmed', '', 0, 0)`,
  )
  const spawned = database.prepare(
    `INSERT INTO spawned_agents (agent_id, parent_id, depth, state, created_at, ends_at) VALUES (?, ?, ?, 'living', 0, 1)`,
  )
  spawned.run('a', 'root', 1)
  spawned.run('b', 'a', 2)
  for (const [index, agentId] of ['root', 'a', 'b', 'gone'].entries())
    insert.run(agentId, agentId, agentId, agentId, 10 ** index, 100 + index)
  migrate(database, allMigrations)
  const table = createChargeTable(database)
  const charged = ['root', 'a', 'b', 'gone'].map((agentId) => table.chargedSince(agentId, 0))
  expect(charged).toEqual([111, 110, 100, 1000])
  expect(table.countSince('root', 101)).toBe(2)
})

const limit = fc.record({ daily: fc.constantFrom(0, 3, 8, 20), hourly: fc.constantFrom(0, 0, 2, 5) })
const name = fc.constantFrom(...names)
const usd = fc.integer({ min: 1, max: 6 })
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('pay' as const), name, usd }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('together' as const),
      of: fc.array(fc.tuple(name, usd), { minLength: 2, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hour' as const) }) },
)

test('in every tree and order, each agent and what it made spend at most its limits, and nothing is refused below them', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        limits: fc.tuple(limit, limit, limit, limit, limit, limit),
        makers: fc.tuple(...[0, 1, 2, 3, 4].map((above) => fc.nat({ max: above }))),
        ofFleet: limit,
        steps: fc.array(step, { maxLength: 10 }),
      }),
      async ({ limits, makers, ofFleet, steps }) => {
        const fleet = aFleet(
          Object.fromEntries(names.map((one, index) => [one, limits[index] ?? ofFleet])),
          Object.fromEntries(makers.map((maker, index) => [names[index + 1], names[maker]])),
          ofFleet,
        )
        const paid: { readonly chain: readonly string[]; readonly micro: number; readonly at: number }[] = []
        /** True if one more payment stays within the limits of everyone in its chain, by plain counting. */
        const fits = (chain: readonly string[], micro: number): boolean =>
          chain.every((one) => {
            const own = limits[names.indexOf(one as (typeof names)[number])] ?? ofFleet
            const daily = own.daily === 0 ? ofFleet.daily : own.daily
            const hourly = own.hourly === 0 ? ofFleet.hourly : own.hourly
            const of = paid.filter((payment) => payment.chain.includes(one))
            const spent = of.reduce((sum, payment) => sum + payment.micro, 0)
            const lately = of.filter(({ at }) => at >= fleet.clock.now() - 3_600_000).length
            return (daily === 0 || spent + micro <= daily * 1_000_000) && (hourly === 0 || lately < hourly)
          })
        const keep = (who: string, micro: number) =>
          paid.push({ chain: fleet.chainOf(who), micro, at: fleet.clock.now() })
        for (const one of steps) {
          // One address has at most sixteen payments without an end.
          if (paid.length > 11) break
          if (one.do === 'hour') await fleet.clock.advance(3_600_001)
          if (one.do === 'delete') fleet.remove(one.name)
          if (one.do === 'pay') {
            const micro = one.usd * 1_000_000 + feeMicroUsd
            const expected = fleet.isLiving(one.name) && fits(fleet.chainOf(one.name), micro)
            const end = await fleet.pays(one.name, one.usd)
            expect(end === 'paid', `${one.name} pays ${one.usd}: ${end}`).toBe(expected)
            if (expected) keep(one.name, micro)
          }
          if (one.do === 'together') {
            const ends = await Promise.all(one.of.map(([who, amount]) => fleet.pays(who, amount)))
            for (const [index, [who, amount]] of one.of.entries()) {
              const micro = amount * 1_000_000 + feeMicroUsd
              if (ends[index] === 'paid') {
                // Whatever the order, the last of them to be counted is within all limits.
                expect(fits(fleet.chainOf(who), micro), `${who} pays ${amount} among others`).toBe(true)
                keep(who, micro)
              }
            }
            for (const [index, [who, amount]] of one.of.entries()) {
              if (ends[index] === 'paid' || !fleet.isLiving(who)) continue
              expect(
                fits(fleet.chainOf(who), amount * 1_000_000 + feeMicroUsd),
                `${who} was refused ${amount}`,
              ).toBe(false)
            }
          }
        }
      },
    ),
    { numRuns: 150 },
  )
}, 60_000)

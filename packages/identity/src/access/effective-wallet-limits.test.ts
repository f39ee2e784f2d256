import * as fc from 'fast-check'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { expect, test } from 'vitest'
import { childRecord } from '../../../work/src/spawning/child-record.ts'
import { decideWalletSpend } from './decide-wallet-spend.ts'
import { effectiveWalletLimits, walletLimitFields } from './effective-wallet-limits.ts'
import { boundedRecord } from './within-parent.ts'

const agents = ['root', 'a', 'b', 'c', 'd'] as const
type Agent = (typeof agents)[number]
/** 0, absent, or a whole number. */
const limit = fc.oneof(fc.constant(0), fc.constant(undefined), fc.integer({ min: 1, max: 40 }))
const limits = fc.record({
  wallet_spend_limit_per_tx_usd: limit,
  wallet_spend_limit_daily_usd: limit,
  wallet_rate_limit_per_hour: limit,
})
const agent = fc.constantFrom(...agents)
const step = fc.oneof(
  fc.record({ do: fc.constant('edit' as const), agent, limits }),
  fc.record({ do: fc.constant('spawn' as const), agent, maker: agent, limits }),
  fc.record({ do: fc.constant('move' as const), agent, maker: agent }),
)
const fleetLimits = fc.record({
  perTxUsd: fc.constantFrom(0, 7, 20),
  dailyUsd: fc.constantFrom(0, 7, 20),
  perHour: fc.constantFrom(0, 7, 20),
})
const fleetOf = {
  wallet_spend_limit_per_tx_usd: 'perTxUsd',
  wallet_spend_limit_daily_usd: 'dailyUsd',
  wallet_rate_limit_per_hour: 'perHour',
} as const

const recordFrom = (fields: object): PermissionRecord =>
  permissionRecordSchema.parse({
    ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
    can_use_wallet: true,
    wallet_allowed_chains: ['*'],
  })
const orEndless = (value: number): number => (value === 0 ? Number.POSITIVE_INFINITY : value)

test('the limit that holds for an agent is the lowest of its own and all its makers’, where 0 is the fleet’s', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fleetLimits, limits, (steps, fleet, rootLimits) => {
      const records = new Map<string, PermissionRecord>([['root', recordFrom(rootLimits)]])
      const makers = new Map<string, Agent>()
      const makersOf = (of: string): string[] => {
        const maker = makers.get(of)
        return maker === undefined ? [] : [maker, ...makersOf(maker)]
      }
      const recordOf = (of: string) =>
        boundedRecord(
          of,
          (id) => records.get(id),
          (id) => makers.get(id) ?? null,
        )
      for (const one of steps) {
        if (one.do === 'edit') {
          if (records.has(one.agent)) records.set(one.agent, recordFrom(one.limits))
          continue
        }
        const parent = recordOf(one.maker)
        const isRing = one.agent === one.maker || makersOf(one.maker).includes(one.agent)
        if (one.agent === 'root' || isRing || parent === undefined) continue
        if (one.do === 'move' && !records.has(one.agent)) continue
        makers.set(one.agent, one.maker)
        if (one.do === 'move') continue
        const fields = recordFrom(one.limits)
        // A person grants the wallet afterwards.
        records.set(one.agent, {
          ...childRecord({ parent, fields, maySpawn: true }),
          can_use_wallet: true,
        })
      }
      for (const of of records.keys()) {
        const record = recordOf(of)
        if (record === undefined) continue
        const effective = effectiveWalletLimits(record, fleet)
        for (const field of walletLimitFields) {
          const lowest = [of, ...makersOf(of)].map((id) => {
            const own = records.get(id)?.[field] ?? 0
            return orEndless(own === 0 ? fleet[fleetOf[field]] : own)
          })
          expect(orEndless(effective[field]), `${of} ${field}`).toBe(Math.min(...lowest))
        }
        for (const maker of makersOf(of)) {
          const above = recordOf(maker)
          const spend = {
            chain: 'base',
            contract: null,
            spentTodayUsd: 0,
            spendsLastHour: 0,
            makers: [],
            fleet,
          }
          const valueUsd = effective.wallet_spend_limit_per_tx_usd || 50
          const asked = { do: 'spend-from-wallet', ...spend, valueUsd } as const
          if (decideWalletSpend(record, asked).allowed && above !== undefined)
            expect(decideWalletSpend(above, asked)).toMatchObject({ allowed: true })
        }
      }
    }),
    { numRuns: 1000 },
  )
})

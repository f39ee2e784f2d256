import * as fc from 'fast-check'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, expect, onTestFinished, test } from 'vitest'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { migrated } from '../../../../tests/support/model-harness.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { spendingSchema } from '../../../foundation/src/storage/schema/spending-schema.ts'
import { checkSums } from './check-sums.ts'
import { createReservations } from './reservations.ts'
import type { Reservation, ReserveWish } from './reservation.ts'
import { settleLedger } from './settle-ledger.ts'
import { createSpendTable } from './spend-table.ts'
import { checkedStatements } from './sum-statements.ts'
import { agentScope, fleetScope, runScope } from './sum-scopes.ts'
import { patient } from '../../../../tests/support/patience.ts'

const day = '2026-11-21'
const limitNano = 400_000

interface LifeOptions {
  readonly path?: string
  readonly life?: string
  readonly clock?: ReturnType<typeof createManualClock>
  readonly database?: ReturnType<typeof migrated>
}

/** The money of one mesh process. Its ids are unique among all processes. */
function aMeshProcess(options: LifeOptions = {}) {
  const clock = options.clock ?? createManualClock(`${day}T12:00:00Z`)
  const life = options.life ?? 'life_1'
  const database = options.database ?? migrated(options.path)
  const spend = createSpendTable(database)
  const journal = collectJournal()
  const ending = new AbortController()
  let ids = 0
  const reservations = createReservations({
    database,
    spend,
    clock,
    life,
    journal,
    stopped: ending.signal,
    newId: (prefix) => `${prefix}_${life}_${++ids}`,
    budgetOf: (agentId) => ({
      daily_usd: limitNano / 1e9,
      monthly_usd: 1,
      project: agentId === 'a' ? { name: 'p', daily_usd: null, monthly_usd: null } : null,
      fleet: { daily_usd: limitNano / 1e9, monthly_usd: null },
    }),
    treeOf: (runId) => [runId],
    addRunCost: () => {},
  })
  const differences = () => checkSums(database, new Date(clock.now()).toISOString().slice(0, 10))
  return { clock, database, spend, reservations, journal, ending, differences, life }
}

function wishOf(agentId = 'a', maxTokens = 60): ReserveWish {
  return {
    agentId,
    run: { runId: `run_${agentId}`, budgetUsd: null, taskId: agentId === 'b' ? 'task_1' : null },
    model: 'm',
    promptTokens: 5,
    promptNano: 400,
    outputNanoPerToken: 10,
    answers: 1,
    maxTokens,
  }
}

const closing = { costNano: 500, promptTokens: 1, completionTokens: 1 }
const none = { totals: [], daily: [] }

describe('the ledger of money at a start', () => {
  test('the ledger of money at a start takes nothing of its own life, so that a call of this life is given back once', async () => {
    const { reservations, spend, database, clock, differences, life } = aMeshProcess()
    const reservation = await reservations.reserve(wishOf())
    const again = { database, spend, clock, life, log: silentLog, addRunCost: () => {} }
    expect(settleLedger(again)).toEqual({ leftOpen: 0, corrected: 0, words: null })
    reservations.settle(reservation, closing)
    reservations.flush()
    expect(spend.total(agentScope('a'), day)).toMatchObject({ openNano: 0, spentNano: 500, calls: 1 })
    expect(differences()).toEqual(none)
  })

  test('the ledger of money at a start is settled before a reservations of that life exists', async () => {
    const database = migrated()
    const before = aMeshProcess({ database, life: 'life_1' })
    await before.reservations.reserve(wishOf())
    const after = aMeshProcess({ database, life: 'life_2' })
    expect(after.reservations.found.leftOpen).toBe(1)
    expect(after.spend.total(fleetScope, day)).toMatchObject({
      openNano: 0,
      spentNano: 1000,
      unconfirmedNano: 1000,
      calls: 1,
    })
  })

  test('a reservation that another process settled changes no sum when it ends, and the next call can reserve', async () => {
    const { reservations, spend, database, differences } = aMeshProcess()
    const lost = await reservations.reserve(wishOf())
    // Another mesh process, started beside this one, settles the open call.
    aMeshProcess({ database, life: 'life_2' })
    expect(spend.total(runScope('run_a'), '')).toMatchObject({ openNano: 0, spentNano: 1000 })
    reservations.settle(lost, closing)
    reservations.flush()
    const next = await reservations.reserve(wishOf())
    expect(spend.total(runScope('run_a'), '')).toMatchObject({ openNano: next.reservedNano })
    reservations.refund(next)
    reservations.flush()
    expect(spend.total(runScope('run_a'), '')).toMatchObject({ openNano: 0, spentNano: 1500 })
    expect(differences()).toEqual(none)
  })

  test('the ledger of money at a start makes sums follow their rows, in words, in the journal, and once', async () => {
    const { reservations, database } = aMeshProcess()
    reservations.settle(await reservations.reserve(wishOf()), closing)
    reservations.flush()
    database.exec(`DROP TRIGGER spend_total_stays_above_zero;
      UPDATE spend_total SET open_nano = -41509500 WHERE scope = 'agent:a' AND period = '${day}';
      UPDATE spend_total SET spent_nano = 0 WHERE scope = 'run:run_a';
      UPDATE spend_daily SET cost_nano = 1`)
    const next = aMeshProcess({ database, life: 'life_2' })
    expect(next.reservations.found.corrected).toBe(3)
    expect(next.reservations.found.words).toContain(
      'agent:a 2026-11-21 was recorded as -0.041509500 USD reserved',
    )
    expect(next.journal.entries).toMatchObject([
      { actor: 'system', action: 'spend.corrected', detail: { sums: 3 } },
    ])
    expect(next.spend.total(agentScope('a'), day)).toMatchObject({ openNano: 0, spentNano: 500 })
    expect(next.spend.total(runScope('run_a'), '')).toMatchObject({ spentNano: 500 })
    expect(next.differences()).toEqual(none)
    expect(aMeshProcess({ database, life: 'life_3' }).reservations.found).toEqual({
      leftOpen: 0,
      corrected: 0,
      words: null,
    })
  })

  test('the ledger of money at a start sees a sum without rows, one that is missing, and what a month before left open', async () => {
    const clock = createManualClock('2026-10-31T23:59:00Z')
    const { reservations, database } = aMeshProcess({ clock })
    await reservations.reserve(wishOf())
    await clock.advance(120_000)
    database.exec(`DELETE FROM spend_total WHERE scope = 'agent:a' AND period = '2026-10-31';
      INSERT INTO spend_total (scope, period, open_nano) VALUES ('run:gone', '', 7), ('agent:gone', '2026-11-01', 7)`)
    const next = aMeshProcess({ database, clock, life: 'life_2' })
    expect(next.reservations.found).toMatchObject({ leftOpen: 1, corrected: 3 })
    expect(next.spend.total(agentScope('a'), '2026-10-31')).toMatchObject({ openNano: 0, spentNano: 1000 })
    expect(next.spend.total('run:gone', '').openNano).toBe(0)
    expect(next.spend.total('agent:gone', '2026-11-01').openNano).toBe(0)
  })

  test('sums below zero that another program wrote are corrected to zero at the start, also of closed months', () => {
    const database = migrated()
    database.exec(`DROP TRIGGER spend_total_stays_above_zero; DROP TRIGGER spend_total_begins_above_zero;
      INSERT INTO spend_total (scope, period, open_nano, spent_nano, unconfirmed_nano, calls, tokens)
        VALUES ('agent:x', '2026-09', -5, -3, -1, 2, -9), ('agent:y', '2026-09', 0, -3, 0, 2, 4)`)
    database.exec(spendingSchema.match(/CREATE TRIGGER[\s\S]*?END;/g)?.join('\n') ?? '')
    const next = aMeshProcess({ database })
    expect(next.reservations.found.corrected).toBe(2)
    expect(next.reservations.found.words).toContain(
      'agent:x 2026-09 was recorded as -0.000000005 USD reserved',
    )
    const zero = { openNano: 0, spentNano: 0, unconfirmedNano: 0 }
    expect(next.spend.total(agentScope('x'), '2026-09')).toEqual({ ...zero, calls: 2, tokens: 0 })
    expect(next.spend.total(agentScope('y'), '2026-09')).toEqual({ ...zero, calls: 2, tokens: 4 })
    expect(next.differences()).toEqual(none)
  })

  test('settling at a start reads each call a fixed number of times, however many runs there were', () => {
    const { database } = aMeshProcess()
    const plans = checkedStatements.map((statement) =>
      database
        .prepare(`EXPLAIN QUERY PLAN ${statement}`)
        .all(...Array.from({ length: statement.split('?').length - 1 }, () => '2026-11'))
        .map((row) => String(row['detail'])),
    )
    expect(plans).toHaveLength(3)
    for (const plan of plans) {
      expect(plan.filter((step) => /^SCAN spend\b/.test(step))).toHaveLength(1)
      expect(plan.filter((step) => /SUBQUERY|SEARCH|CORRELATED/.test(step))).toEqual([])
    }
  })

  test('the ledger of money at a start checks a run and a task over a change of the month by all of their calls', async () => {
    const clock = createManualClock('2026-10-31T23:59:00Z')
    const { reservations, database } = aMeshProcess({ clock })
    reservations.settle(await reservations.reserve(wishOf('b')), closing)
    await clock.advance(120_000)
    reservations.settle(await reservations.reserve(wishOf('b')), closing)
    reservations.flush()
    database.exec(`UPDATE spend_total SET spent_nano = 1 WHERE scope = 'task:task_1'`)
    const next = aMeshProcess({ database, clock, life: 'life_2' })
    expect(next.reservations.found.corrected).toBe(1)
    expect(next.spend.total('task:task_1', '')).toMatchObject({ spentNano: 1000, calls: 2 })
  })

  test('the ledger of money at a start never lets a sum fall below zero: the write is undone and the money stays set aside', () => {
    const { database, spend } = aMeshProcess()
    const row = {
      ...closing,
      id: 'x',
      agentId: 'a',
      runId: null,
      taskId: null,
      project: null,
      model: 'm',
      day,
    }
    expect(() =>
      spend.pay(row, null, { openNano: 0, spentNano: -1, unconfirmedNano: 0, calls: 0, tokens: 0 }),
    ).toThrow('below zero')
    expect(() =>
      database.exec(`INSERT INTO spend_total (scope, period, open_nano) VALUES ('fleet', 'x', 5);
        UPDATE spend_total SET open_nano = open_nano - 6 WHERE period = 'x'`),
    ).toThrow('below zero')
  })
})

const agent = fc.constantFrom('a', 'b', 'c')
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('reserve' as const),
      agent,
      tokens: fc.integer({ min: 1, max: 600 }),
      atOnce: fc.integer({ min: 1, max: 12 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('settle' as const), pick: fc.nat(), share: fc.nat(150) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refund' as const), pick: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(50, 1000, 43_200_000) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'rebalance' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'flush' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'stop' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'crash' as const }) },
  // Simulates another mesh process or a manual change of the database.
  { weight: 1, arbitrary: fc.constant({ do: 'close-behind' as const }) },
)

test(
  'sums are what the rows say after each step of any play, over crashes and restarts',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ledger-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    let files = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const clock = createManualClock(`${day}T12:00:00Z`)
        const path = join(folder, `${files++}.db`)
        let lives = 0
        const begin = () => aMeshProcess({ path, clock, life: `life_${++lives}` })
        let harness = begin()
        let open: Reservation[] = []
        const take = (pick: number) => open.splice(pick % Math.max(1, open.length), 1)[0]
        const die = () => {
          harness.ending.abort(new Error('this life is over'))
          harness.database.close()
          harness = begin()
          open = []
        }
        for (const one of steps) {
          if (one.do === 'reserve') {
            const asked = Array.from({ length: one.atOnce }, () =>
              harness.reservations.reserve(wishOf(one.agent, one.tokens)).catch(() => null),
            )
            for (const got of await Promise.all(asked)) if (got) open.push(got)
          } else if (one.do === 'settle') {
            const picked = take(one.pick)
            const costNano = Math.floor(((picked?.reservedNano ?? 0) * one.share) / 100)
            if (picked)
              harness.reservations.settle(picked, { costNano, promptTokens: 3, completionTokens: 2 })
          } else if (one.do === 'refund') {
            const picked = take(one.pick)
            if (picked) harness.reservations.refund(picked)
          } else if (one.do === 'wait') await clock.advance(one.ms)
          else if (one.do === 'rebalance') harness.reservations.rebalance()
          else if (one.do === 'flush') harness.reservations.flush()
          else if (one.do === 'close-behind') {
            const { database, spend } = harness
            settleLedger({ database, spend, clock, life: 'another', log: silentLog, addRunCost: () => {} })
          } else {
            if (one.do === 'stop') harness.reservations.flush()
            die()
            expect(harness.reservations.found.words).toBe(null)
          }
          expect(harness.differences()).toEqual(none)
        }
        die()
        expect(harness.reservations.found.words).toBe(null)
        expect(harness.spend.total(fleetScope, day).openNano).toBe(0)
        harness.ending.abort(new Error('the end'))
        harness.database.close()
      }),
      { numRuns: process.env['FLOTILLA_SOAK'] === '1' ? 1000 : 40 },
    )
  },
  patient(600_000),
)

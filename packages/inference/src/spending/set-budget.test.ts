import { missingAgent } from '../../../testing/src/missing-agent.ts'
import { Problem } from '@flotilla/protocol/problem'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { collectEvents, collectJournal } from '../../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { createDenialCounts } from '../../../identity/src/access/denial-counts.ts'
import { createRefuseAboveCeiling } from '../../../identity/src/access/hold-ceiling.ts'
import { createBudgetTable } from './budget-table.ts'
import { createSetAgentProject, createSetBudget } from './set-budget.ts'
import type { BudgetDeps } from './set-budget.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const operator: Caller = { kind: 'agent', agentId: 'operator', token: 'door', run: null }

function aRoom(overrides: Partial<BudgetDeps> = {}) {
  const database = migrated()
  const journal = collectJournal()
  const events = collectEvents()
  const rows = new Map([
    ['scout', { budget: { dailyUsd: 10, monthlyUsd: 200 }, project: null as string | null }],
    ['operator', { budget: { dailyUsd: 10, monthlyUsd: 200 }, project: null as string | null }],
  ])
  let rebalanced = 0
  const table = createBudgetTable(database)
  const deps: BudgetDeps = {
    database,
    table,
    agents: {
      find: (id) => rows.get(id) ?? null,
      require: (id) => rows.get(id) ?? missingAgent(id),
      setBudget: (id, budget) => void rows.set(id, { project: null, ...rows.get(id), budget }),
      setProject: (id, project) =>
        void rows.set(id, { budget: { dailyUsd: 10, monthlyUsd: 200 }, ...rows.get(id), project }),
    },
    guard: () => {},
    refuseAbove: createRefuseAboveCeiling({
      denials: createDenialCounts(createManualClock()),
      journal,
      events,
      log: silentLog,
    }),
    journal,
    events,
    makerOf: () => null,
    membershipChanged: () => {},
    rebalance: () => rebalanced++,
    ...overrides,
  }
  return {
    deps,
    rows,
    table,
    journal,
    events,
    database,
    set: createSetBudget(deps),
    setProject: createSetAgentProject(deps),
    rebalanced: () => rebalanced,
  }
}

const scout = { scope: 'agent', id: 'scout' } as const
const fleet = { scope: 'fleet', id: '' } as const
const acme = { scope: 'project', id: 'acme' } as const

describe('setting a budget', () => {
  test('setting a budget of one period leaves the other unchanged', () => {
    heedsLesson(85)
    const { set, rows, rebalanced } = aRoom()
    expect(set(owner, scout, { daily_usd: 5 })).toEqual({
      before: { dailyUsd: 10, monthlyUsd: 200 },
      after: { dailyUsd: 5, monthlyUsd: 200 },
    })
    set(owner, scout, { monthly_usd: 30 })
    expect(rows.get('scout')?.budget).toEqual({ dailyUsd: 5, monthlyUsd: 30 })
    expect(rebalanced()).toBe(2)
  })

  test.each([
    ['daily_usd', 0.01, 1000],
    ['monthly_usd', 0.1, 30_000],
  ] as const)(
    'setting a budget of %s outside of its range is refused with field and numbers',
    (field, min, max) => {
      verifies('limits:budget-daily', 'limits:budget-monthly')
      const { set, rows, journal } = aRoom()
      for (const scope of [scout, fleet, acme]) {
        for (const value of [0, -1, min - 0.001, max + 0.01, Number.MAX_VALUE]) {
          expect(() => set(owner, scope, { [field]: value })).toThrow(
            expect.objectContaining({
              code: 'bad-request',
              detail: `${field} is USD ${min} to ${max}, not ${value}`,
              extra: { field, min, max, value },
            }),
          )
        }
        set(owner, scope, { [field]: min })
        set(owner, scope, { [field]: max })
      }
      expect(journal.entries).toHaveLength(6)
      expect(rows.get('scout')?.budget).toMatchObject(
        field === 'daily_usd' ? { dailyUsd: max } : { monthlyUsd: max },
      )
    },
  )

  test('setting a budget takes every amount inside of the range and no other', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true }), fc.double({ noNaN: true }), (daily, monthly) => {
        const { set, database } = aRoom()
        const fits = daily >= 0.01 && daily <= 1000 && monthly >= 0.1 && monthly <= 30_000
        const edit = () => set(owner, fleet, { daily_usd: daily, monthly_usd: monthly })
        if (fits) expect(edit().after).toEqual({ dailyUsd: daily, monthlyUsd: monthly })
        else expect(edit).toThrow(Problem)
        database.close()
      }),
      {
        numRuns: process.env['FLOTILLA_SOAK'] === '1' ? 180 : 20,
        examples: [
          [0.01, 0.1],
          [1000, 30_000],
          [5, 100],
        ],
      },
    )
  })

  test('a budget of a project and of the fleet can be removed, of an agent never', () => {
    const { set, table, database } = aRoom()
    set(owner, acme, { daily_usd: 5, monthly_usd: 50 })
    set(owner, acme, { daily_usd: null })
    expect(table.read('project:acme')).toEqual({ dailyUsd: null, monthlyUsd: 50 })
    expect(createBudgetTable(database).read('project:acme')).toEqual({ dailyUsd: null, monthlyUsd: 50 })
    set(owner, acme, { monthly_usd: null })
    expect(table.projects()).toEqual([])
    expect(() => set(owner, scout, { daily_usd: null })).toThrow('an agent always has this limit')
  })

  test('setting a budget is journaled and announced with the previous value', () => {
    const { set, journal, events } = aRoom()
    set(owner, scout, { daily_usd: 5 })
    expect(journal.entries).toEqual([
      {
        actor: 'human:cli',
        action: 'budget.changed',
        subject: 'agent:scout',
        detail: {
          before: { daily_usd: 10, monthly_usd: 200 },
          after: { daily_usd: 5, monthly_usd: 200 },
        },
      },
    ])
    expect(events.bodies).toEqual([
      { type: 'budget.changed', scope: 'agent', scope_id: 'scout', daily_usd: 5, monthly_usd: 200 },
    ])
  })

  test('setting a budget by an agent is for other agents alone: never its own, a project’s or the fleet’s', () => {
    const { set, rows } = aRoom()
    set(operator, scout, { daily_usd: 1 })
    expect(rows.get('scout')?.budget.dailyUsd).toBe(1)
    for (const scope of [{ scope: 'agent', id: 'operator' } as const, fleet, acme]) {
      expect(() => set(operator, scope, { daily_usd: 1 })).toThrow(
        expect.objectContaining({ code: 'denied' }),
      )
    }
  })

  test('an agent that manages projects lets others in, and neither itself nor the operator', () => {
    const { setProject, rows } = aRoom()
    setProject(operator, 'scout', 'acme')
    expect(rows.get('scout')?.project).toBe('acme')
    const scoutItself: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run: null }
    expect(() => setProject(scoutItself, 'scout', 'other')).toThrow(
      expect.objectContaining({ code: 'denied' }),
    )
    for (const caller of [operator, owner]) {
      expect(() => setProject(caller, 'operator', 'acme')).toThrow(
        expect.objectContaining({ code: 'reserved-agent-id' }),
      )
    }
  })

  test('setting a budget asks the guard first, and changes nothing that it cannot journal', () => {
    const refused = aRoom({
      guard: () => {
        throw new Problem('denied')
      },
    })
    expect(() => refused.set(owner, fleet, { daily_usd: 1 })).toThrow(
      expect.objectContaining({ code: 'denied' }),
    )
    const journalless = aRoom({
      journal: {
        append: () => {
          throw new Error('the disk is full')
        },
      },
    })
    expect(() => journalless.set(owner, fleet, { daily_usd: 1 })).toThrow('the disk is full')
    expect(journalless.table.read('fleet')).toEqual({ dailyUsd: null, monthlyUsd: null })
  })

  test.each([
    [{ scope: 'agent', id: 'nobody' } as const, 'unknown-agent'],
    [{ scope: 'project', id: '../x' } as const, 'bad-request'],
    [{ scope: 'fleet', id: 'x' } as const, 'bad-request'],
  ])('setting a budget of %j is refused', (scope, code) => {
    const { set } = aRoom()
    expect(() => set(owner, scope, { daily_usd: 1 })).toThrow(expect.objectContaining({ code }))
  })
})

/** All kinds of callers except a person at the terminal or the dashboard. */
const others: readonly Caller[] = [
  operator,
  { kind: 'human', role: 'owner', channel: 'telegram', user: 'owner' },
  { kind: 'human', role: 'owner', channel: 'CLI' },
  { kind: 'internal' },
  { kind: 'system' },
]

describe('a budget that somebody else than a person at the terminal sets', () => {
  const daily = fc.option(fc.constantFrom(0.01, 1, 10, 10.01, 1000))
  const monthly = fc.option(fc.constantFrom(0.1, 20, 200, 200.01, 30_000))
  const period = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
  const room = (limit: number | null) => limit ?? Infinity

  test('a budget that another caller than a person at the terminal sets never lets more be spent, in whatever steps and whichever scope', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...others),
        fc.constantFrom(scout, fleet, acme),
        fc.record({ dailyUsd: daily, monthlyUsd: monthly }),
        fc.array(fc.record({ daily_usd: period(daily), monthly_usd: period(monthly) }), { maxLength: 6 }),
        (...[caller, scope, first, edits]) => {
          const { set, rows, table, database } = aRoom()
          if (scope === scout) {
            rows.set('scout', {
              project: null,
              budget: { dailyUsd: first.dailyUsd ?? 10, monthlyUsd: first.monthlyUsd ?? 200 },
            })
          } else table.write(scope === fleet ? 'fleet' : 'project:acme', first)
          const now = () =>
            scope === scout
              ? (rows.get('scout')?.budget ?? first)
              : table.read(scope === fleet ? 'fleet' : 'project:acme')
          for (const edit of edits) {
            const before = now()
            try {
              set(caller, scope, edit)
            } catch (error) {
              expect(error).toBeInstanceOf(Problem)
              expect(now()).toEqual(before)
            }
            expect(room(now().dailyUsd)).toBeLessThanOrEqual(room(before.dailyUsd))
            expect(room(now().monthlyUsd)).toBeLessThanOrEqual(room(before.monthlyUsd))
          }
          database.close()
        },
      ),
      { numRuns: process.env['FLOTILLA_SOAK'] === '1' ? 600 : 70 },
    )
  })

  test.each(others)(
    'a budget that another caller than a person at the terminal sets may be lowered by %j, and a first limit be set',
    (caller) => {
      const { set, table } = aRoom()
      expect(set(caller, scout, { daily_usd: 10 }).after.dailyUsd).toBe(10)
      expect(set(caller, scout, { daily_usd: 9 }).after.dailyUsd).toBe(9)
      if (caller.kind === 'agent') return
      set(caller, fleet, { daily_usd: 20 })
      set(caller, fleet, { daily_usd: 20, monthly_usd: 5 })
      expect(table.read('fleet')).toEqual({ dailyUsd: 20, monthlyUsd: 5 })
      for (const edit of [{ daily_usd: null }, { daily_usd: 20.01 }, { daily_usd: 1, monthly_usd: null }]) {
        expect(() => set(caller, fleet, edit)).toThrow(expect.objectContaining({ code: 'human-only' }))
      }
      expect(table.read('fleet')).toEqual({ dailyUsd: 20, monthlyUsd: 5 })
    },
  )

  test('a budget that another caller than a person at the terminal sets leaves a denial in the journal with field and reason where it would rise', () => {
    const { set, journal, rows } = aRoom()
    expect(() => set(operator, scout, { daily_usd: 1000 })).toThrow(
      expect.objectContaining({ code: 'human-only', extra: { field: 'daily_usd' } }),
    )
    expect(rows.get('scout')?.budget.dailyUsd).toBe(10)
    expect(journal.entries).toEqual([
      {
        actor: 'agent:operator',
        action: 'ceiling.refused',
        subject: 'agent:scout',
        detail: {
          field: 'daily_usd',
          reason: expect.stringContaining('1000 is more than the current USD 10'),
        },
      },
    ])
  })
})

describe('the project of an agent', () => {
  test('the project of an agent and its budget are asked for by the right to manage projects, which that to manage the fleet is not', () => {
    const asked: string[] = []
    const { set, setProject, rows, table } = aRoom({
      guard: (_caller, action) => {
        asked.push(action.do)
        if (action.do === 'manage-projects') throw new Problem('denied')
      },
    })
    expect(() => set(operator, acme, { daily_usd: 1 })).toThrow(expect.objectContaining({ code: 'denied' }))
    expect(() => setProject(operator, 'scout', 'acme')).toThrow(expect.objectContaining({ code: 'denied' }))
    expect(asked).toEqual(['manage-projects', 'manage-projects'])
    expect([rows.get('scout')?.project, table.projects()]).toEqual([null, []])
    set(operator, scout, { daily_usd: 1 })
    expect(asked.at(-1)).toBe('manage-fleet')
  })

  test('an agent leaves a project with a limit only by a person at the terminal', () => {
    const { set, setProject, rows } = aRoom()
    set(owner, acme, { monthly_usd: 5 })
    const moves = others.filter(({ kind }) => kind !== 'agent')
    for (const caller of moves) {
      rows.set('scout', { budget: { dailyUsd: 10, monthlyUsd: 200 }, project: 'acme' })
      setProject(caller, 'scout', 'acme')
      for (const to of [null, 'other']) {
        expect(() => setProject(caller, 'scout', to)).toThrow(expect.objectContaining({ code: 'human-only' }))
      }
      expect(rows.get('scout')?.project).toBe('acme')
      setProject(owner, 'scout', null)
      // Joining a project, or leaving one without a limit, raises nothing.
      setProject(caller, 'scout', 'free')
      setProject(caller, 'scout', 'acme')
      expect(rows.get('scout')?.project).toBe('acme')
    }
  })

  test('the project of an agent asks for both projects: who leads one does not empty another', () => {
    const asked: (string | undefined)[] = []
    const { setProject, rows } = aRoom({
      guard: (_caller, action) => {
        if (action.do === 'manage-projects') asked.push(action.project)
        if (action.do === 'manage-projects' && action.project === 'beta') throw new Problem('denied')
      },
    })
    rows.set('scout', { budget: { dailyUsd: 10, monthlyUsd: 200 }, project: 'beta' })
    expect(() => setProject(operator, 'scout', 'acme')).toThrow(expect.objectContaining({ code: 'denied' }))
    expect(asked).toEqual([undefined, 'acme', 'beta'])
    expect(rows.get('scout')?.project).toBe('beta')
  })

  test('the project of an agent is changed and journaled', () => {
    const { setProject, rows, journal } = aRoom()
    setProject(owner, 'scout', 'acme')
    expect(rows.get('scout')?.project).toBe('acme')
    expect(journal.entries).toMatchObject([
      { action: 'agent.project-changed', subject: 'scout', detail: { before: null, after: 'acme' } },
    ])
  })
})

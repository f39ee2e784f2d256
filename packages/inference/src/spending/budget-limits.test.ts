import { describe, expect, test } from 'vitest'
import {
  callsExhausted,
  exhausted,
  isShared,
  leftIn,
  limitsFor,
  tightestLimit,
  treeTotal,
} from './budget-limits.ts'
import type { Budgets, BudgetLimit, BudgetAccount } from './budget-limits.ts'

const day = '2026-11-21'

function aLimit(changes: Partial<BudgetLimit> = {}): BudgetLimit {
  return {
    name: 'daily',
    scope: 'agent',
    id: 'a',
    period: day,
    limitNano: 5_000_000_000,
    spentNano: 1_000_000_000,
    openNano: 500_000_000,
    ...changes,
  }
}

/** The limits as texts, with sums that name where they were read. */
function limits(budgets: Partial<Budgets>, account: Partial<BudgetAccount> = {}): readonly string[] {
  const requests: string[] = []
  const total = (scope: string, period: string) => {
    requests.push(`${scope}@${period}`)
    return { spentNano: 1, openNano: 2, unconfirmedNano: 0, calls: 0, tokens: 4 }
  }
  const found = limitsFor(
    {
      // Only the sums of the table are read.
      spend: { total } as never,
      budgetOf: () => ({ daily_usd: 1, monthly_usd: 2, ...budgets }),
      treeOf: (runId) => [runId, `${runId}.child`],
    },
    { agentId: 'a', project: null, run: null, ...account },
    day,
  )
  const told = found.map(
    ({ name, scope, id, period, limitNano, spentNano, openNano }) =>
      `${name} ${scope}:${id}@${period} ${limitNano / 1e9} ${spentNano} ${openNano}`,
  )
  return [...told, requests.join(' ')]
}

describe('the limits that a call is paid from', () => {
  const own = [`daily agent:a@${day} 1 1 2`, 'monthly agent:a@2026-11 2 1 2']
  const ownAsked = `agent:a@${day} agent:a@2026-11`

  test('the limits that a call is paid from are those of its agent, of a day and of a month', () => {
    expect(limits({})).toEqual([...own, ownAsked])
  })

  test('the limits of a call include those of its project, each limit that was set', () => {
    const project = { name: 'p', daily_usd: 3, monthly_usd: null }
    expect(limits({ project }, { project: 'p' })).toEqual([
      ...own,
      `daily project:p@${day} 3 1 2`,
      `${ownAsked} project:p@${day}`,
    ])
    expect(limits({ project }, { project: 'before' })).toEqual([...own, ownAsked])
    expect(limits({ project }, { project: null })).toEqual([...own, ownAsked])
    expect(limits({ project: null }, { project: 'p' })).toEqual([...own, ownAsked])
  })

  test('the limits that a call is paid from are those of the fleet too', () => {
    expect(limits({ fleet: { daily_usd: null, monthly_usd: 9 } })).toEqual([
      ...own,
      'monthly fleet:@2026-11 9 1 2',
      `${ownAsked} fleet@2026-11`,
    ])
  })

  test('the limits that a call is paid from are those of its run and of the runs that it works for, with all that works for them', () => {
    const run = {
      runId: 'run_1',
      budgetUsd: 4,
      capsAbove: [
        { runId: 'run_0', budgetUsd: null, budgetTokens: null },
        { runId: 'run_top', budgetUsd: 8, budgetTokens: null },
      ],
    }
    expect(limits({}, { run })).toEqual([
      ...own,
      'run run:run_1@ 4 2 4',
      'run run:run_top@ 8 2 4',
      `${ownAsked} run:run_1@ run:run_1.child@ run:run_top@ run:run_top.child@`,
    ])
    expect(limits({}, { run: { runId: 'run_1', budgetUsd: null } })).toEqual([...own, ownAsked])
  })

  test('the limits that a call is paid from are that of its task too, where tasks have a limit', () => {
    const run = { runId: 'run_1', budgetUsd: null, taskId: 'task_1' }
    const asked = `${ownAsked} task:task_1@`
    expect(limits({ task: { max_usd: 5, max_calls: 1 } }, { run })).toEqual([
      ...own,
      'task task:task_1@ 5 1 2',
      asked,
    ])
    expect(limits({ task: { max_usd: null, max_calls: 1 } }, { run })).toEqual([...own, ownAsked])
    expect(limits({}, { run })).toEqual([...own, ownAsked])
    expect(limits({ task: { max_usd: 5, max_calls: 1 } }, { run: { ...run, taskId: null } })).toEqual([
      ...own,
      ownAsked,
    ])
  })

  test('the limits of a run are summed over all runs that work for it, money and tokens', () => {
    const sums = { a: 1, b: 10 }
    const spend = {
      total: (scope: string) => {
        const nano = scope === 'run:a' ? sums.a : sums.b
        return { spentNano: nano, openNano: 2 * nano, unconfirmedNano: 0, calls: 0, tokens: 3 * nano }
      },
    }
    expect(treeTotal({ spend, treeOf: () => ['a', 'b'] }, 'a')).toEqual({
      spentNano: 11,
      openNano: 22,
      tokens: 33,
    })
  })
})

describe('the tightest limit', () => {
  test('the tightest limit is the one with the least that is neither spent nor set aside, and the first of several', () => {
    const wide = aLimit({ id: 'wide' })
    const spent = aLimit({ id: 'spent', spentNano: 4_000_000_000 })
    const open = aLimit({ id: 'open', openNano: 3_500_000_000 })
    expect([wide, spent, open].map(leftIn)).toEqual([3_500_000_000, 500_000_000, 500_000_000])
    expect(tightestLimit([wide, spent, open])).toBe(spent)
    expect(tightestLimit([open, spent, wide])).toBe(open)
    expect(tightestLimit([wide])).toBe(wide)
  })

  test.each([
    ['agent', false],
    ['task', false],
    ['project', true],
    ['fleet', true],
    ['run', true],
  ] as const)('whether the limit of a %s is shared by agents: %s', (scope, shared) => {
    expect(isShared(aLimit({ scope }))).toBe(shared)
  })
})

describe('a budget that has no money for a call', () => {
  test('an exhausted budget reports its owner, the rest, the required amount and the start of the next period', () => {
    expect(exhausted(aLimit(), 250_000_000, 750_000_000)).toMatchObject({
      code: 'budget-exhausted',
      detail:
        'the daily budget of agent a has 0.250000 of 5 USD left and this call may need 0.750000 or more; the budget resets at 2026-11-22T00:00:00.000Z',
      extra: {
        budget: 'daily',
        scope: 'agent',
        scope_id: 'a',
        period: day,
        limit_usd: 5,
        spent_usd: 1,
        reserved_usd: 0.5,
        left_usd: 0.25,
        needed_usd: 0.75,
        resets_at: '2026-11-22T00:00:00.000Z',
      },
    })
  })

  test('a budget that has no money for a call is of the fleet as a whole, never starts anew where it is of a run, and has never less than nothing left', () => {
    expect(exhausted(aLimit({ scope: 'fleet', id: '' }), 0, 1).detail).toContain(
      'daily budget of the fleet has 0.000000',
    )
    const { detail, extra } = exhausted(
      aLimit({ name: 'run', scope: 'run', id: 'run_1', period: '' }),
      -9,
      2000,
    )
    expect(detail).toBe(
      'the run budget of run run_1 has 0.000000 of 5 USD left and this call may need 0.000002 or more',
    )
    expect(extra).toMatchObject({ left_usd: 0, resets_at: null })
  })

  test('a budget that has no money for a call in calls of a task says how many were made', () => {
    expect(callsExhausted('task_1', { max: 3, made: 4 }).extra).toEqual({
      budget: 'task-calls',
      scope: 'task',
      scope_id: 'task_1',
      period: '',
      limit_calls: 3,
      calls: 4,
      resets_at: null,
    })
  })
})

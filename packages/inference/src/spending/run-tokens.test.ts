import { describe, expect, test } from 'vitest'
import { createRunTokens } from './run-tokens.ts'

/** Sums by run, as the table has them; `asked` lists the runs that were read from it. */
function aCount(booked: Readonly<Record<string, number>> = {}) {
  const requests: string[] = []
  const tokens = createRunTokens({
    spend: {
      total: (scope) => ({
        spentNano: 0,
        openNano: 0,
        unconfirmedNano: 0,
        calls: 0,
        tokens: booked[scope] ?? 0,
      }),
    },
    treeOf: (runId) => {
      requests.push(runId)
      return [runId, `${runId}-child`]
    },
  })
  return { ...tokens, asked: requests }
}

const run = (runId: string, budgetTokens: number | null) => ({ runId, budgetUsd: null, budgetTokens })
const one = (maxTokens: number) => ({ maxTokens, answers: 1 })

describe('the tokens of a run', () => {
  test('the tokens of a run are not counted where neither it nor one above it has a cap', () => {
    const { take, ended, asked } = aCount()
    expect(take(null, one(7))).toBe(7)
    expect(take(run('run', null), one(7))).toBe(7)
    expect(take({ runId: 'run', budgetUsd: null, capsAbove: [run('top', null)] }, one(7))).toBe(7)
    ended(run('run', null), { setAside: 7, used: 7 })
    expect(asked).toEqual([])
  })

  test('the tokens of a run are taken to the last one, and what is refused then says of which run, and how many', () => {
    const { take } = aCount({ 'run:run': 60, 'run:run-child': 30 })
    const capped = run('run', 100)
    expect(take(capped, one(9))).toBe(9)
    expect(take(capped, one(9))).toBe(1)
    expect(() => take(capped, one(1))).toThrow(
      expect.objectContaining({
        code: 'budget-exhausted',
        extra: expect.objectContaining({
          budget: 'run-tokens',
          scope: 'run',
          scope_id: 'run',
          period: '',
          limit_tokens: 100,
          tokens: 100,
          resets_at: null,
        }),
      }),
    )
  })

  test('the tokens of a run are read from the table once, and then counted in memory, as open calls are not in the table', () => {
    const { take, ended, asked } = aCount({ 'run:run': 10 })
    const capped = run('run', 100)
    take(capped, one(50))
    ended(capped, { setAside: 50, used: 20 })
    expect(take(capped, one(1000))).toBe(70)
    expect(asked).toEqual(['run'])
  })

  test('the remaining tokens of a parent run limit a call too, and are not taken if another run rejects it', () => {
    const { take } = aCount()
    const top = run('top', 50)
    const below = (runId: string, cap: number) => ({ ...run(runId, cap), capsAbove: [top] })
    expect(take(below('a', 100), one(30))).toBe(30)
    expect(() => take(below('b', 0), one(30))).toThrow(expect.objectContaining({ code: 'budget-exhausted' }))
    expect(take(below('c', 100), one(30))).toBe(20)
    expect(() => take(below('d', 100), one(30))).toThrow(
      expect.objectContaining({ extra: expect.objectContaining({ scope_id: 'top', tokens: 50 }) }),
    )
  })

  test('the tokens of a run never come to less than none, so that no call gives a run more than its cap', () => {
    const { take, ended } = aCount()
    const capped = run('run', 100)
    take(capped, one(10))
    ended(capped, { setAside: 10, used: 0 })
    ended(capped, { setAside: 10, used: 0 })
    expect(take(capped, one(1000))).toBe(100)
  })

  test('the tokens of a thousand runs are cached; the least recently used run is read from the table again', () => {
    const { take, ended, asked } = aCount({ 'run:run_0': 40, 'run:run_1': 50 })
    const call = (runId: string) => {
      take(run(runId, 100), one(1))
      ended(run(runId, 100), { setAside: 1, used: 1 })
    }
    for (let at = 0; at < 1000; at++) call(`run_${at}`)
    call('run_0')
    expect(asked).toHaveLength(1000)
    call('run_1000')
    ended(run('run_1', 100), { setAside: 1, used: 1 })
    expect(take(run('run_0', 100), one(1000))).toBe(58)
    expect(take(run('run_1', 100), one(1000))).toBe(50)
    expect(asked.slice(1000)).toEqual(['run_1000', 'run_1'])
  })

  test('cached tokens above a thousand runs are dropped once their calls are over', () => {
    const { take, ended, asked } = aCount()
    const names = Array.from({ length: 1500 }, (_, at) => `run_${at}`)
    for (const name of names) take(run(name, 100), one(1))
    for (const name of names) ended(run(name, 100), { setAside: 1, used: 1 })
    take(run('late', 100), one(1))
    const before = asked.length
    // The late run has evicted the first 501; each that is read again evicts the run that was unused for longest.
    take(run('run_500', 100), one(1))
    take(run('run_1499', 100), one(1))
    expect(asked.slice(before)).toEqual(['run_500'])
  })

  test('the tokens of a run with an open call stay cached, so no cap is granted twice', () => {
    const { take, ended, asked } = aCount()
    const long = run('long', 100)
    take(long, one(60))
    take(long, one(40))
    ended(long, { setAside: 60, used: 50 })
    for (let at = 0; at < 1500; at++) {
      take(run(`run_${at}`, 100), one(1))
      ended(run(`run_${at}`, 100), { setAside: 1, used: 1 })
    }
    expect(take(long, one(1000))).toBe(10)
    expect(asked.filter((runId) => runId === 'long')).toHaveLength(1)
  })
})

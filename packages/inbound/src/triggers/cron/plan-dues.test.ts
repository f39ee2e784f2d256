import { describe, expect, it } from 'vitest'
import type { Schedule } from './cron-schedule.ts'
import { dueBetween, nextDues, planDues, planDuesInSteps } from './plan-dues.ts'

const minute = 60_000
const minutely: Schedule = { kind: 'cron', expression: '* * * * *', timezone: 'UTC' }
/** Every ten seconds, aligned. */
const often: Schedule = { kind: 'every', everyMs: 10_000, anchor: 0 }

describe.each([
  ['an interval', often, 10_000],
  ['an expression', minutely, minute],
] as const)('the due times of %s', (_kind, schedule, step) => {
  it('due times begin after the first time and end with the second', () => {
    expect(dueBetween(schedule, step, 2 * step - 1)).toBe(null)
    expect(dueBetween(schedule, step, 2 * step)).toEqual({ latest: 2 * step, missed: null })
    expect(dueBetween(schedule, step - 1, step)).toEqual({ latest: step, missed: null })
    expect(dueBetween(schedule, step, 3 * step - 1)).toEqual({ latest: 2 * step, missed: null })
  })

  it('all due times but the last are missed', () => {
    const missed = (last: number, count: number) => ({
      first: 2 * step,
      last: last * step,
      count,
      exact: true,
    })
    expect(dueBetween(schedule, step, 3 * step)).toEqual({ latest: 3 * step, missed: missed(2, 1) })
    expect(dueBetween(schedule, step, 5 * step - 1)).toEqual({ latest: 4 * step, missed: missed(3, 2) })
    expect(dueBetween(schedule, step, 5 * step)).toEqual({ latest: 5 * step, missed: missed(4, 3) })
  })

  it('due times that already have rows neither fire nor count as missed', () => {
    const until = 6 * step
    const plan = (...taken: readonly number[]) =>
      planDues(schedule, { after: 0, until, taken: taken.map((at) => at * step) })
    const missed = (first: number, last: number) => ({
      first: first * step,
      last: last * step,
      count: last - first + 1,
      exact: true,
    })
    expect(plan()).toEqual({ fire: until, missed: [missed(1, 5)] })
    expect(plan(1)).toEqual({ fire: until, missed: [missed(2, 5)] })
    expect(plan(2)).toEqual({ fire: until, missed: [missed(1, 1), missed(3, 5)] })
    expect(plan(4, 2)).toEqual({ fire: until, missed: [missed(1, 1), missed(3, 3), missed(5, 5)] })
    expect(plan(5)).toEqual({ fire: until, missed: [missed(1, 4)] })
    expect(plan(6)).toEqual({ fire: null, missed: [missed(1, 5)] })
    expect(plan(6, 5, 4, 3, 2, 1)).toBe(null)
  })

  it('rows before or after the range have no effect on due times', () => {
    const missed = [{ first: 2 * step, last: 2 * step, count: 1, exact: true }]
    const taken = [0, step, 4 * step, 100 * step]
    for (const rows of [taken, [0], [4 * step]]) {
      expect(planDues(schedule, { after: step, until: 3 * step, taken: rows })).toEqual({
        fire: 3 * step,
        missed,
      })
    }
  })

  it('there is no plan if nothing is due', () => {
    expect(planDues(schedule, { after: step, until: 2 * step - 1, taken: [] })).toBe(null)
  })
})

describe('the next due times', () => {
  const live = (nextDue: number, enabled = true) => ({ job: { enabled }, schedule: often, nextDue })

  it('the next due times are the next few, in order', () => {
    expect(nextDues(live(20_000), 15_000)).toEqual([20_000, 30_000, 40_000, 50_000, 60_000])
  })

  it('the next due times begin with the waiting one and leave out those that have passed since', () => {
    expect(nextDues(live(20_000), 45_000)).toEqual([20_000, 50_000, 60_000, 70_000, 80_000])
  })

  it('a disabled job or one that is never due again has no next due times', () => {
    expect(nextDues(live(Infinity, false), 0)).toEqual([])
  })
})

describe('the plan of a long downtime', () => {
  const day = 24 * 60 * minute
  const after = Date.parse('2026-01-01T00:00:00Z')
  const minutely: Schedule = { kind: 'cron', expression: '* * * * *', timezone: 'America/New_York' }

  it('a plan of 5000 due times gives way to the event loop between its steps', () => {
    const range = { after, until: after + 30 * day, taken: [] }
    const steps = planDuesInSteps(minutely, range)
    let count = 0
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) count++
    // 100 steps of 50 due times each, and 23 halvings for each of the two last ones.
    expect(count).toBeGreaterThanOrEqual(140)
    expect(step.value).toEqual({
      fire: after + 30 * day,
      missed: [{ first: after + minute, last: after + 30 * day - minute, count: 5000, exact: false }],
    })
  })

  it('a plan that is made in one go counts fewer due times and has the same ends', () => {
    expect(planDues(minutely, { after, until: after + 30 * day, taken: [] })).toEqual({
      fire: after + 30 * day,
      missed: [{ first: after + minute, last: after + 30 * day - minute, count: 500, exact: false }],
    })
  })
})

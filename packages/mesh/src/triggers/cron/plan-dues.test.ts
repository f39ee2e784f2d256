import { describe, expect, it } from 'vitest'
import type { Schedule } from './cron-schedule.ts'
import { dueBetween, nextDues, planDues } from './plan-dues.ts'

const minute = 60_000
const minutely: Schedule = { kind: 'cron', expression: '* * * * *', timezone: 'UTC' }
/** Every ten seconds, on the tens. */
const often: Schedule = { kind: 'every', everyMs: 10_000, anchor: 0 }

describe.each([
  ['an interval', often, 10_000],
  ['an expression', minutely, minute],
] as const)('the due times of %s', (_kind, schedule, step) => {
  it('begin after the one moment and end with the other', () => {
    expect(dueBetween(schedule, step, 2 * step - 1)).toBe(null)
    expect(dueBetween(schedule, step, 2 * step)).toEqual({ latest: 2 * step, missed: null })
    expect(dueBetween(schedule, step - 1, step)).toEqual({ latest: step, missed: null })
    expect(dueBetween(schedule, step, 3 * step - 1)).toEqual({ latest: 2 * step, missed: null })
  })

  it('are all missed but the last', () => {
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

  it('that have rows already are neither acted on nor missed', () => {
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

  it('are not touched by rows from before or after them', () => {
    const missed = [{ first: 2 * step, last: 2 * step, count: 1, exact: true }]
    const taken = [0, step, 4 * step, 100 * step]
    for (const rows of [taken, [0], [4 * step]]) {
      expect(planDues(schedule, { after: step, until: 3 * step, taken: rows })).toEqual({
        fire: 3 * step,
        missed,
      })
    }
  })

  it('are none where nothing is due', () => {
    expect(planDues(schedule, { after: step, until: 2 * step - 1, taken: [] })).toBe(null)
  })
})

describe('the next due times', () => {
  const live = (nextDue: number, enabled = true) => ({ job: { enabled }, schedule: often, nextDue })

  it('are the next few, in order', () => {
    expect(nextDues(live(20_000), 15_000)).toEqual([20_000, 30_000, 40_000, 50_000, 60_000])
  })

  it('begin with the one that waits to be acted on, and leave out what has come meanwhile', () => {
    expect(nextDues(live(20_000), 45_000)).toEqual([20_000, 50_000, 60_000, 70_000, 80_000])
  })

  it('are none of a job that is off or never due again', () => {
    expect(nextDues(live(Infinity, false), 0)).toEqual([])
  })
})

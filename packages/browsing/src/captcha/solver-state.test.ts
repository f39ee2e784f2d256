import { describe, expect, test } from 'vitest'
import { beginSolve, endSolve, freshSolverState, restsUntil, solverStateSchema } from './solver-state.ts'
import type { SolverState } from './solver-state.ts'

const minute = 60_000
const day = '2026-11-23'
const caps = { mostNano: 10, perHour: 3, dailyNano: 25 }

const agentId = 'scout'

function begun(state: SolverState, at: number | { now: number; day: string }, of = caps): SolverState {
  const next = beginSolve(
    state,
    { agentId, ...(typeof at === 'number' ? { now: at, day, agentId } : at) },
    of,
  )
  if (typeof next === 'string') throw new Error(next)
  return next
}

const ended = (state: SolverState, now: number, isSolved: boolean) =>
  endSolve(state, now, { agentId, day, mostNano: 10, costNano: isSolved ? 4 : 0, isSolved })

describe('what may be asked', () => {
  test('what may be asked is so many an hour, whichever they came to, and again when the first is an hour ago', () => {
    const free = { ...caps, mostNano: 0 }
    const full = [0, 1, 2].reduce((state, at) => begun(state, at * minute, free), freshSolverState)
    expect(beginSolve(full, { now: 59 * minute, day, agentId }, free)).toBe(
      'the limit of CAPTCHAs an hour is reached',
    )
    expect(begun(full, 60 * minute, free).startedAt).toEqual([1, 2, 60].map((at) => at * minute))
  })

  test('what may be asked is a daily amount that counts reservations until the cost is known', () => {
    const two = begun(begun(freshSolverState, 0), 1)
    expect(beginSolve(two, { now: 2, day, agentId }, caps)).toBe(
      'the budget for CAPTCHAs of today is used up',
    )
    const { state } = ended(two, 3, true)
    expect(state.dayNano).toBe(14)
    expect(begun(state, 4).dayNano).toBe(24)
  })

  test('what may be asked resets each day, and a call that ends after midnight counts on the day of its start', () => {
    const spent = begun(begun(freshSolverState, 0), 1)
    const next = begun(spent, { now: 2, day: '2026-11-24' })
    expect(next).toMatchObject({ day: '2026-11-24', dayNano: 10 })
    expect(ended(next, 3, true).state.dayNano).toBe(10)
  })

  test('what may be asked is zero if the owner sets no amount', () => {
    expect(beginSolve(freshSolverState, { now: 0, day, agentId }, { ...caps, dailyNano: 0 })).toBe(
      'the budget for CAPTCHAs of today is used up',
    )
  })
})

describe('the share of one agent', () => {
  const hour = 60 * minute
  /** Noon of a day, so that the hour before is on the same day. */
  const noon = 12 * hour
  const asked = (state: SolverState, of: { agentId: string; now: number }, limits: typeof caps) =>
    beginSolve(state, { ...of, day }, limits)

  test('the share of one agent is three quarters of an hour’s calls if others have had none', () => {
    const limits = { mostNano: 0, perHour: 20, dailyNano: 0 }
    let state = freshSolverState
    for (let call = 0; call < 15; call++) state = begun(state, noon, limits)
    expect(asked(state, { agentId, now: noon }, limits)).toBe(
      'the remaining CAPTCHAs of this hour are reserved for other agents',
    )
    expect(asked(state, { agentId: 'other', now: noon }, limits)).toMatchObject({ lastOf: { other: noon } })
    expect(asked(state, { agentId, now: noon + hour }, limits)).toMatchObject({ startedAt: [noon + hour] })
  })

  test('the share of one agent is three quarters of a day’s amount if others have had none', () => {
    const limits = { mostNano: 10, perHour: 500, dailyNano: 85 }
    let state = freshSolverState
    for (let call = 0; call < 6; call++) state = begun(state, noon, limits)
    // Two of eight answers are reserved, and 25 of 85 are left.
    expect(asked(state, { agentId, now: noon + 2 * hour }, limits)).toBe(
      'the remaining CAPTCHA budget of today is reserved for other agents',
    )
    expect(asked(state, { agentId: 'other', now: noon }, limits)).toMatchObject({ dayNano: 70 })
    // Its last call was on the day before.
    const next = { ...state, day, dayNano: 60, lastOf: { [agentId]: -hour } }
    expect(asked(next, { agentId, now: noon }, limits)).toMatchObject({ dayNano: 70 })
  })

  test('the share of one agent forgets agents after a day', () => {
    const limits = { mostNano: 0, perHour: 20, dailyNano: 0 }
    const state = begun({ ...freshSolverState, lastOf: { old: 0, late: 1 } }, 24 * hour, limits)
    expect(state.lastOf).toEqual({ late: 1, [agentId]: 24 * hour })
  })

  test('a state that was stored without it is read', () => {
    const { lastOf: _, failuresOf: _failures, ...stored } = freshSolverState
    // A cooldown of all agents, as an earlier release kept it, is dropped.
    const earlier = { ...stored, failuresInARow: 3, restsUntil: 30 * minute }
    expect(solverStateSchema.parse(earlier)).toEqual(freshSolverState)
  })
})

describe('three failures in a row', () => {
  const free = { mostNano: 0, perHour: 500, dailyNano: 0 }
  const failed = (state: SolverState, now: number) => ended(begun(state, now, free), now, false)

  test('start a cooldown of half an hour, and the owner is notified once', () => {
    const first = failed(freshSolverState, 0)
    const second = failed(first.state, 1)
    const third = failed(second.state, 2)
    expect([first.rests, second.rests, third.rests]).toEqual([false, false, true])
    expect(beginSolve(third.state, { now: 30 * minute + 1, day, agentId }, free)).toBe(
      'the solver is in cooldown after failures',
    )
    // One more call is tried then; if it fails, the cooldown starts again without a notification.
    const fourth = failed(third.state, 30 * minute + 2)
    expect(fourth.rests).toBe(false)
    expect(beginSolve(fourth.state, { now: 31 * minute, day, agentId }, free)).toBe(
      'the solver is in cooldown after failures',
    )
  })

  test('start a cooldown for the agent that had them alone, and each agent has a cooldown of its own', () => {
    const third = failed(failed(failed(freshSolverState, 0).state, 1).state, 2).state
    expect(beginSolve(third, { now: 3, day, agentId }, free)).toBe('the solver is in cooldown after failures')
    const other = beginSolve(third, { now: 3, day, agentId: 'other' }, free)
    expect(other).toMatchObject({ lastOf: { other: 3 } })
    // A success of the other agent does not end the cooldown, and its failures do not count with those before.
    const once = { day, mostNano: 0, costNano: 0, agentId: 'other' }
    for (const isSolved of [true, false]) {
      const { state, rests } = endSolve(third, 4, { ...once, isSolved })
      expect(rests).toBe(false)
      expect(beginSolve(state, { now: 5, day, agentId }, free)).toBe(
        'the solver is in cooldown after failures',
      )
      expect(beginSolve(state, { now: 5, day, agentId: 'other' }, free)).toMatchObject({
        lastOf: { other: 5 },
      })
    }
    expect(restsUntil(third, 3)).toBe(30 * minute + 2)
    expect(restsUntil(third, 30 * minute + 2)).toBe(null)
  })

  test('three failures in a row are forgotten a day after the last of them', () => {
    const third = failed(failed(failed(freshSolverState, 0).state, 1).state, 2).state
    const { state } = endSolve(third, 24 * 60 * minute + 2, {
      agentId: 'other',
      day,
      mostNano: 0,
      costNano: 0,
      isSolved: false,
    })
    expect(Object.keys(state.failuresOf)).toEqual(['other'])
  })

  test('failures with a success among them are not consecutive', () => {
    const two = failed(failed(freshSolverState, 0).state, 1).state
    const answered = ended(begun(two, 2, free), 2, true)
    expect(answered.state.failuresOf).toEqual({})
    expect(failed(answered.state, 3)).toMatchObject({
      rests: false,
      state: { failuresOf: { [agentId]: { inARow: 1, restsUntil: null } } },
    })
  })
})

test('the state fits its form at the largest cap', () => {
  const free = { mostNano: 0, perHour: 500, dailyNano: 0 }
  const full = Array.from({ length: 500 }).reduce<SolverState>((state, _one, at) => {
    const next = beginSolve(state, { now: 1, day, agentId: `agent-${at}` }, free)
    if (typeof next === 'string') throw new Error(next)
    return next
  }, freshSolverState)
  expect(solverStateSchema.parse(full)).toEqual(full)
  expect(beginSolve(full, { now: 2, day, agentId }, free)).toBe('the limit of CAPTCHAs an hour is reached')
})

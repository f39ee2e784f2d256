import * as z from 'zod'
import { captchaRanges } from '@flotilla/foundation/config'
import { solverLimits } from './solver-limits.ts'

const hourMs = 60 * 60_000
const dayMs = 24 * hourMs
/** The part of the hourly and daily limits for agents without a recent call, so that one agent cannot use all. */
const reservedPart = 0.25

const failuresSchema = z.object({
  inARow: z.int().nonnegative(),
  /** The end of the agent's cooldown, in milliseconds since 1970; null if no cooldown began. */
  restsUntil: z.int().nullable(),
  lastAt: z.int(),
})

/**
 * The state of the limits over all agents together, and the circuit breaker of each agent: a page that the solver
 * cannot answer is the choice of an agent. Spawned agents count as their root ancestor. Times are milliseconds
 * since 1970.
 */
export const solverStateSchema = z.object({
  /** Times of the calls in the last hour. */
  startedAt: z.array(z.int()).max(captchaRanges.perHour.max),
  /** The current day in UTC, such as `2026-11-23`. */
  day: z.string().max(10),
  /** The amount spent and reserved on that day, in nano-dollars. */
  dayNano: z.int().nonnegative(),
  /** Consecutive failures of each agent that had one in the last 24 hours. */
  failuresOf: z.record(z.string(), failuresSchema).default({}),
  /** The time of each agent's last call in the last 24 hours. */
  lastOf: z.record(z.string(), z.int()).default({}),
})
export type SolverState = z.output<typeof solverStateSchema>

export const freshSolverState: SolverState = {
  startedAt: [],
  day: '',
  dayNano: 0,
  failuresOf: {},
  lastOf: {},
}

export interface SolverMoment {
  readonly now: number
  readonly day: string
  readonly agentId: string
}

export type SolverRefusal =
  | 'the solver is in cooldown after failures'
  | 'the limit of CAPTCHAs an hour is reached'
  | 'the budget for CAPTCHAs of today is used up'
  | 'the remaining CAPTCHAs of this hour are reserved for other agents'
  | 'the remaining CAPTCHA budget of today is reserved for other agents'

/** Returns the state with one more call and its reservation of `mostNano`, or the reason to refuse the call. Pure. */
export function beginSolve(
  state: SolverState,
  { now, day, agentId }: SolverMoment,
  caps: { readonly mostNano: number; readonly perHour: number; readonly dailyNano: number },
): SolverState | SolverRefusal {
  if (now < (state.failuresOf[agentId]?.restsUntil ?? 0)) return 'the solver is in cooldown after failures'
  const startedAt = state.startedAt.filter((at) => now - at < hourMs)
  if (startedAt.length >= caps.perHour) return 'the limit of CAPTCHAs an hour is reached'
  const dayNano = (state.day === day ? state.dayNano : 0) + caps.mostNano
  if (dayNano > caps.dailyNano) return 'the budget for CAPTCHAs of today is used up'
  const since = now - (state.lastOf[agentId] ?? -Infinity)
  if (since < hourMs && startedAt.length >= caps.perHour - reserved(caps.perHour))
    return 'the remaining CAPTCHAs of this hour are reserved for other agents'
  const ofOthers = caps.mostNano === 0 ? 0 : reserved(caps.dailyNano / caps.mostNano) * caps.mostNano
  if (since <= now % dayMs && dayNano > caps.dailyNano - ofOthers)
    return 'the remaining CAPTCHA budget of today is reserved for other agents'
  const recent = Object.entries(state.lastOf).filter(([, at]) => now - at < dayMs)
  const lastOf = { ...Object.fromEntries(recent), [agentId]: now }
  return { ...state, startedAt: [...startedAt, now], day, dayNano, lastOf }
}

const reserved = (calls: number): number => Math.floor(calls * reservedPart)

/** Returns the state after the result of a call. `rests` is true if a cooldown starts with this failure. Pure. */
export function endSolve(
  state: SolverState,
  now: number,
  end: {
    /** The day on which the call began. */
    readonly day: string
    readonly agentId: string
    readonly mostNano: number
    readonly costNano: number
    readonly isSolved: boolean
  },
): { readonly state: SolverState; readonly rests: boolean } {
  const dayNano =
    state.day === end.day ? Math.max(0, state.dayNano - end.mostNano + end.costNano) : state.dayNano
  const { [end.agentId]: own, ...ofOthers } = state.failuresOf
  const recent = Object.entries(ofOthers).filter(([, { lastAt }]) => now - lastAt < dayMs)
  const failuresOf = Object.fromEntries(recent)
  if (end.isSolved) return { state: { ...state, dayNano, failuresOf }, rests: false }
  const inARow = (own?.inARow ?? 0) + 1
  const until = inARow >= solverLimits.failuresMax ? now + solverLimits.restMs : null
  failuresOf[end.agentId] = { inARow, restsUntil: until, lastAt: now }
  // Reported once, until the next success.
  return { state: { ...state, dayNano, failuresOf }, rests: inARow === solverLimits.failuresMax }
}

/** Returns the latest end of a cooldown of any agent; null if no agent is in a cooldown. Pure. */
export function restsUntil(state: SolverState, now: number): number | null {
  const ends = Object.values(state.failuresOf).map((own) => own.restsUntil ?? 0)
  const latest = Math.max(0, ...ends)
  return latest > now ? latest : null
}

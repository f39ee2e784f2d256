/** When an agent that failed is tried again. Pure. */

const firstPauseMs = 30_000
const pauseMaxMs = 600_000
const hourMs = 3600_000
const restartsPerHourMax = 3

/** Times of earlier restarts that are kept; more cannot matter to the rule. */
export const restartsKept = 16

/**
 * The time from which the agent may be started again: 30 s doubled per earlier restart, 10 minutes at most, after it
 * failed, and never a fourth time within an hour. `restarts` are the earlier ones since the agent was last well, in
 * order; all times in milliseconds.
 */
export function restartDueAt(restarts: readonly number[], failedAt: number): number {
  const pauseMs = Math.min(pauseMaxMs, firstPauseMs * 2 ** Math.min(restarts.length, restartsKept))
  const thirdLast = restarts.at(-restartsPerHourMax)
  return Math.max(failedAt + pauseMs, thirdLast === undefined ? 0 : thirdLast + hourMs)
}

import process from 'node:process'

/**
 * Tests wait for events; a deadline exists only to report a hung test. The deadline grows with the slowness or load
 * of the machine, compared to the one on which the bounds were written, and decides no result. FLOTILLA_TEST_PATIENCE
 * sets the factor by hand.
 */

/** Duration in ms of the loop in `measuredPatience` on the idle machine on which the bounds were written. */
const referenceMs = 65
const least = 5
/** The maximum factor, so that a hung test is reported within an hour even on the slowest machine. */
const most = 12
const name = 'FLOTILLA_TEST_PATIENCE'

/** The factor by which waits in tests are extended on this machine; at least five, since load may rise later. */
export const patience = readPatience() ?? least

/** Converts a bound in ms for an idle machine into the bound for this machine. */
export function patient(ms: number): number {
  return Math.round(ms * patience)
}

/** Measures the factor for this machine: how long it needs for a fixed calculation under its present load. */
export function measuredPatience(): number {
  const given = readPatience()
  if (given !== undefined) return given
  const startedAt = performance.now()
  let sum = 0
  for (let step = 0; step < 10_000_000; step += 1) sum = (sum + step * 31) % 1_000_003
  const slowness = (performance.now() - startedAt + (sum < 0 ? 1 : 0)) / referenceMs
  return Math.min(most, Math.max(least, Math.ceil(least * slowness)))
}

function readPatience(): number | undefined {
  const given = Number(process.env[name])
  return Number.isFinite(given) && given > 0 ? given : undefined
}

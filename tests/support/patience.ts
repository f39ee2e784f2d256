import process from 'node:process'

/**
 * Tests wait for events, and a wait has an end only so that a hung test is told. That end lies as much further
 * out as the machine is slower or busier than the one on which the bounds were written: nothing passes or
 * fails by it. FLOTILLA_TEST_PATIENCE sets the factor by hand.
 */

/** What the loop of `measuredPatience` took on the quiet machine on which the bounds were written, in ms. */
const referenceMs = 65
const least = 5
/** So that a hung test is told within the hour also on the slowest machine. */
const most = 12
const name = 'FLOTILLA_TEST_PATIENCE'

/** How many times longer than it says a bound of a test waits here. At least five, since work may come later. */
export const patience = readPatience() ?? least

/** A bound in ms as it is meant on a quiet machine, made as long as this one wants it. */
export function patient(ms: number): number {
  return Math.round(ms * patience)
}

/** The factor for this machine, by how long it takes over a fixed sum beside what it does now. */
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

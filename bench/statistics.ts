/** Median; the mean of the middle two for an even count, NaN for no values. Pure. */
export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

/**
 * Percentile with linear interpolation between neighboring ranks. `percent` from 0 to 100; NaN for no values. Pure.
 */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const rank = ((sorted.length - 1) * percent) / 100
  const low = sorted[Math.floor(rank)] ?? Number.NaN
  const high = sorted[Math.ceil(rank)] ?? Number.NaN
  return low + (high - low) * (rank - Math.floor(rank))
}

/** Median of the ratios to the baseline of the same round, so that a slow round affects both sides. Pure. */
export function pairedRatio(values: readonly number[], floor: readonly number[]): number {
  return median(values.flatMap((value, round) => (floor[round] === undefined ? [] : [value / floor[round]])))
}

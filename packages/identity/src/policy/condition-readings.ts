import { missingVariables } from './condition-values.ts'
import type { ConditionValues } from './condition-values.ts'

/**
 * What conditions are tested with: the values of an effect, and each reading of its path. A set of readings is a number
 * with a bit for each, so that one operation decides about all of them.
 */
export interface Readings {
  readonly values: ConditionValues
  /** At most 32; a single one without text if the effect has no path that the mesh sees. */
  readonly paths: readonly (string | null | undefined)[]
  /** Every reading. */
  readonly all: number
  /** The readings for all of which a rule that allows must hold; they are the first ones. */
  readonly allowing: number
  /** The variables that do not apply to the effect, as bits, and those whose values the mesh cannot see. */
  readonly absent: number
  readonly hidden: number
}

/** Creates the readings of an effect: of the paths, a rule that allows must hold for the first `allowingCount`. Pure. */
export function createReadings(
  values: ConditionValues,
  paths: readonly string[],
  allowingCount: number,
): Readings {
  const missing = missingVariables(values)
  if (paths.length === 0) return { values, paths: [null], all: 1, allowing: 1, ...missing }
  return { values, paths, all: firstBits(paths.length), allowing: firstBits(allowingCount), ...missing }
}

function firstBits(count: number): number {
  return count >= 32 ? -1 : (1 << count) - 1
}

/** Keeps the last result, so that what several conditions need for one effect is computed once. */
export function remembered<T>(compute: (of: Readings) => T, use = { isShared: true }): (of: Readings) => T {
  let lastOf: Readings | null = null
  let last: T
  return (of) => {
    // Keeping a result takes longer than a comparison.
    if (!use.isShared) return compute(of)
    if (lastOf !== of) {
      last = compute(of)
      lastOf = of
    }
    return last
  }
}

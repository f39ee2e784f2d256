/**
 * The maximum cost (nano-dollars) and the maximum tokens of one call: a million dollars. No real call costs as much,
 * and sums of calls that wait to be written stay exact integers.
 */
export const bookedMax = 2 ** 50

/** The maximum of stored sums: the database driver refuses to read larger numbers. */
export const summedMax = Number.MAX_SAFE_INTEGER

/** Clamps to a whole number from 0 to `bookedMax`; returns `otherwise` for NaN. Pure. */
export function bookable(value: number, otherwise = 0): number {
  if (Number.isNaN(value)) return otherwise
  return Math.min(bookedMax, Math.max(0, Math.ceil(value)))
}

/** Clamps to a whole number that the database driver can read. Pure. */
export function summable(value: number): number {
  if (Number.isNaN(value)) return 0
  return Math.min(summedMax, Math.max(-summedMax, Math.trunc(value)))
}

/** Returns SQL that clamps a column in which an older release may have stored numbers that the driver cannot read. */
export function readable(column: string): string {
  return `max(min(${column}, ${summedMax}), -${summedMax})`
}

/** Returns SQL for the sum of a column; the sum never overflows. */
export function summed(expression: string): string {
  return `CAST(max(0, min(total(${expression}), ${summedMax})) AS INTEGER)`
}

/** Returns SQL of an upsert that adds to a stored sum, up to the maximum of stored sums. */
export function grown(column: string): string {
  return `${column} = min(${column} + excluded.${column}, ${summedMax})`
}

/**
 * What one call may say of its cost (nano-dollars) or of its tokens, at most: a million dollars. Far above anything true,
 * and so far below what a number holds that no sum of what waits to be written leaves the whole numbers.
 */
export const bookedMax = 2 ** 50

/** Sums end here: the database driver refuses to read what is greater. */
export const summedMax = Number.MAX_SAFE_INTEGER

/** A whole number from 0 to `bookedMax`; `otherwise` for anything that is no number. Pure. */
export function bookable(value: number, otherwise = 0): number {
  if (Number.isNaN(value)) return otherwise
  return Math.min(bookedMax, Math.max(0, Math.ceil(value)))
}

/** A whole number that can be read again. Pure. */
export function summable(value: number): number {
  if (Number.isNaN(value)) return 0
  return Math.min(summedMax, Math.max(-summedMax, Math.trunc(value)))
}

/** SQL: a column that an earlier release may have filled beyond what can be read. */
export function readable(column: string): string {
  return `max(min(${column}, ${summedMax}), -${summedMax})`
}

/** SQL: the sum of a column, which never overflows. */
export function summed(expression: string): string {
  return `CAST(max(0, min(total(${expression}), ${summedMax})) AS INTEGER)`
}

/** SQL of an upsert: adds to a sum, up to where it ends. */
export function grown(column: string): string {
  return `${column} = min(${column} + excluded.${column}, ${summedMax})`
}

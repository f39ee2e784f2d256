/** Columns that help is written for when the program is built; in a wider terminal it keeps to the widest. */
export const helpWidths: readonly number[] = [80, 100, 120]
/** The width for a file or a pipe. */
const beyondTerminal = 100

/** Columns of help in a terminal that has so many. Pure. */
export function helpColumns(columns: number | undefined): number {
  const there = columns ?? beyondTerminal
  return helpWidths.findLast((width) => width <= there) ?? there
}

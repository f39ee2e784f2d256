/** Widths in columns for which help is generated at build time; a wider terminal gets the widest. */
export const helpWidths: readonly number[] = [80, 100, 120]
/** The width for a file or a pipe. */
const beyondTerminal = 100

/** Columns of help for a terminal of this width. Pure. */
export function helpColumns(columns: number | undefined): number {
  const there = columns ?? beyondTerminal
  return helpWidths.findLast((width) => width <= there) ?? there
}

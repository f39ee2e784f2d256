import type { TraceRow } from '@flotilla/client/trace-tree'

/**
 * Returns the rows that contain the words, with the rows above them, so that the tree stays readable; all rows without
 * words. `textOf` returns the searched text of a row. Pure.
 */
export function searchTrace(
  rows: readonly TraceRow[],
  words: string,
  textOf: (row: TraceRow) => string,
): { readonly rows: readonly TraceRow[]; readonly found: ReadonlySet<string> } {
  const wanted = words.trim().toLowerCase()
  if (wanted === '') return { rows, found: new Set() }
  const found = new Set(
    rows.filter((row) => textOf(row).toLowerCase().includes(wanted)).map(({ span }) => span.span_id),
  )
  const kept = new Set<number>()
  /** The indexes of the rows above the present one, from the top level down. */
  const above: number[] = []
  for (const [index, { span, depth }] of rows.entries()) {
    above.length = Math.min(above.length, depth)
    if (found.has(span.span_id)) for (const one of [...above, index]) kept.add(one)
    above[depth] = index
  }
  const shown = rows.filter((_row, index) => kept.has(index))
  return { rows: shown.map((row, index) => ({ ...row, below: countBelow(shown, index) })), found }
}

function countBelow(rows: readonly TraceRow[], index: number): number {
  const depth = rows[index]?.depth ?? 0
  const next = rows.findIndex((row, at) => at > index && row.depth <= depth)
  return (next === -1 ? rows.length : next) - index - 1
}

import { diffLines } from 'diff'

export interface DiffRow {
  readonly kind: 'same' | 'added' | 'removed' | 'skipped'
  readonly text: string
}

/** Number of unchanged lines around each change. */
const contextLines = 3

/** The difference of two texts as rows; a long unchanged part is one row with its number of lines. Pure. */
export function diffRows(before: string, after: string): readonly DiffRow[] {
  const parts = diffLines(withEnd(before), withEnd(after))
  return parts.flatMap(({ added, removed, value }, index): readonly DiffRow[] => {
    const kind = added ? 'added' : removed ? 'removed' : 'same'
    const lines = value.replace(/\n$/, '').split('\n')
    const rows = lines.map((text) => ({ kind, text }) as const)
    return kind === 'same' ? folded(rows, { first: index === 0, last: index === parts.length - 1 }) : rows
  })
}

/** Adds a line break at the end, so that a last line without one compares equal. */
function withEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

function folded(
  rows: readonly DiffRow[],
  { first, last }: { readonly first: boolean; readonly last: boolean },
): readonly DiffRow[] {
  const head = first ? 0 : contextLines
  const tail = last ? 0 : contextLines
  const skipped = rows.length - head - tail
  if (skipped <= 1) return rows
  return [
    ...rows.slice(0, head),
    { kind: 'skipped', text: `${skipped} lines are the same` },
    ...rows.slice(rows.length - tail),
  ]
}

const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/** One character for each value, by its share of the largest; a dot for zero. Pure. */
export function sparkline(values: readonly number[]): string {
  const largest = Math.max(...values, 0)
  return values
    .map((value) => {
      if (value <= 0 || largest === 0) return '·'
      return heights[Math.min(heights.length - 1, Math.floor((value / largest) * heights.length))] ?? '█'
    })
    .join('')
}

/** Draws a bar for a share from 0 to 1; larger shares are cut. Pure. */
export function shareBar(share: number, columns: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * columns)
  return '█'.repeat(filled) + '░'.repeat(columns - filled)
}

/** Sums neighboring values, so that at most `columnsMax` remain; fewer values stay unchanged. Pure. */
export function condensed(values: readonly number[], columnsMax: number): readonly number[] {
  const each = Math.ceil(values.length / columnsMax)
  if (each <= 1) return values
  return Array.from({ length: Math.ceil(values.length / each) }, (_, index) =>
    values.slice(index * each, (index + 1) * each).reduce((sum, value) => sum + value, 0),
  )
}

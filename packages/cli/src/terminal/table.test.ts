import { describe, expect, test } from 'vitest'
import { renderTable } from './table.ts'

const columns = [{ title: 'RUN' }, { title: 'COST', align: 'right' as const }, { title: 'ABOUT' }]
const rows = [
  ['run_0123456789abcdef', '$1.00', 'Counts the licences of all that this project depends on'],
  ['run_fedcba9876543210', '$0.25', 'Writes'],
]
const widest = (lines: readonly string[]) => Math.max(...lines.map((line) => line.length))

describe('a table', () => {
  test('a table is as wide as its cells where nothing bounds it', () => {
    const lines = renderTable(columns, rows, Number.POSITIVE_INFINITY)
    expect(lines).toHaveLength(4)
    expect(lines[2]).toBe(
      'run_0123456789abcdef  $1.00  Counts the licences of all that this project depends on',
    )
  })

  test('a table wraps its words in a narrower terminal, and breaks no id', () => {
    const lines = renderTable(columns, rows, 60)
    expect(widest(lines)).toBeLessThanOrEqual(60)
    expect(lines.join('\n')).toContain('run_0123456789abcdef')
    expect(lines.length).toBeGreaterThan(4)
  })

  test('a table has lines of its own for each row where no column can give way any more', () => {
    const lines = renderTable(columns, rows, 36)
    expect(widest(lines)).toBeLessThanOrEqual(36)
    expect(lines[0]).toBe('RUN    run_0123456789abcdef')
    expect(lines).toContain('COST   $0.25')
  })
})

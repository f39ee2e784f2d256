import { traceTree } from '@flotilla/client/trace-tree'
import type { SpanView } from '@flotilla/protocol/trace-api'
import { expect, it } from 'vitest'
import { searchTrace } from './search-trace.ts'

const span = (id: string, parent: string | null, from: number) =>
  ({ span_id: id, parent_id: parent, name: id, started_at: from }) as unknown as SpanView
const rows = traceTree([
  span('root', null, 1),
  span('first', 'root', 2),
  span('needle one', 'first', 3),
  span('hay', 'first', 4),
  span('second', 'root', 5),
  span('Needle two', 'second', 6),
])

it('a search in a trace shows what it found with all rows above, and counts the rows below anew', () => {
  const { rows: shown, found } = searchTrace(rows, ' needle ', ({ span: { name } }) => name)
  expect(shown.map(({ span: { span_id: id }, below }) => [id, below])).toEqual([
    ['root', 4],
    ['first', 1],
    ['needle one', 0],
    ['second', 1],
    ['Needle two', 0],
  ])
  expect([...found]).toEqual(['needle one', 'Needle two'])
})

it('a search in a trace without words shows all, and one that finds nothing shows nothing', () => {
  expect(searchTrace(rows, ' ', () => '').rows).toBe(rows)
  expect(searchTrace(rows, 'pitchfork', ({ span: { name } }) => name).rows).toEqual([])
})

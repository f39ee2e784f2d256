import type { SpanView } from '@flotilla/protocol/trace-api'
import { traceTree } from '@flotilla/client/trace-tree'
import { describe, expect, it } from 'vitest'
import { barOf, rowAbove, scaleLines, scaleOf, unfolded } from './trace-scale.ts'

const aSpan = (
  id: string,
  parent: string | null,
  [from, until]: readonly [number, number | null],
): SpanView => ({
  span_id: id,
  parent_id: parent,
  run_id: 'run_1',
  agent_id: 'a',
  name: id,
  kind: 'internal',
  status: 'ok',
  started_at: from,
  ended_at: until,
  attributes: {},
})
const spans = [
  aSpan('root', null, [1000, 2000]),
  aSpan('wait', 'root', [1000, 1100]),
  aSpan('handed on', 'root', [1200, null]),
  aSpan('tool', 'handed on', [1300, 1400]),
  aSpan('late', 'root', [1900, 2000]),
]

describe('a trace by time', () => {
  it('a trace by time reaches from its first beginning to its last end, and to now where something goes on', () => {
    expect(scaleOf(spans, 3000)).toEqual({ from: 1000, until: 3000 })
    expect(scaleOf(spans.slice(0, 2), 3000)).toEqual({ from: 1000, until: 2000 })
    expect(scaleOf([], 5)).toEqual({ from: 5, until: 6 })
  })

  it('a trace by time has a bar for each span where it lies', () => {
    const scale = { from: 1000, until: 2000 }
    expect(spans[3] && barOf(spans[3], scale, 2000)).toEqual({ left: 30, width: 10 })
    expect(spans[2] && barOf(spans[2], scale, 1700)).toEqual({ left: 20, width: 50 })
  })

  it('a trace by time folds the rows below a row', () => {
    const rows = traceTree(spans)
    const names = (folded: readonly string[]) =>
      unfolded(rows, new Set(folded)).map(({ span }) => span.span_id)
    expect(names([])).toEqual(['root', 'wait', 'handed on', 'tool', 'late'])
    expect(names(['handed on'])).toEqual(['root', 'wait', 'handed on', 'late'])
    expect(names(['root'])).toEqual(['root'])
    expect(rows.map((_, index) => rowAbove(rows, index))).toEqual([-1, 0, 0, 2, 0])
  })

  it('a trace by time has lines at round moments, and few of them', () => {
    expect(scaleLines({ from: 0, until: 1000 })).toEqual([0, 200, 400, 600, 800, 1000])
    expect(scaleLines({ from: 7, until: 8 })).toEqual([0, 1])
    expect(scaleLines({ from: 0, until: 86_400_000 }).length).toBeLessThanOrEqual(7)
  })
})

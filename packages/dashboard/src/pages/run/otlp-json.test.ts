import type { SpanView } from '@flotilla/protocol/trace-api'
import { expect, it } from 'vitest'
import { otlpJson } from './otlp-json.ts'

const span = (part: Partial<SpanView>): SpanView => ({
  span_id: '00000000000000aa',
  parent_id: null,
  run_id: 'run_1',
  agent_id: 'a',
  name: 'chat m',
  kind: 'client',
  status: 'error',
  started_at: 1_764_400_000_001,
  ended_at: 1_764_400_000_002,
  attributes: { text: 'x', count: 3, part: 0.5, flag: true },
  ...part,
})

it('a trace is exported in the JSON encoding of OTLP, with exact times', () => {
  const open = span({
    span_id: '00000000000000bb',
    parent_id: '00000000000000aa',
    ended_at: null,
    kind: 'internal',
  })
  const exported = otlpJson({ trace_id: 'f'.repeat(32), spans: [span({}), open] }, 1_764_400_000_009)
  const [first, second] = exported.resourceSpans[0]?.scopeSpans[0]?.spans ?? []
  expect(first).toEqual({
    traceId: 'f'.repeat(32),
    spanId: '00000000000000aa',
    name: 'chat m',
    kind: 3,
    startTimeUnixNano: '1764400000001000000',
    endTimeUnixNano: '1764400000002000000',
    attributes: [
      { key: 'text', value: { stringValue: 'x' } },
      { key: 'count', value: { intValue: '3' } },
      { key: 'part', value: { doubleValue: 0.5 } },
      { key: 'flag', value: { boolValue: true } },
    ],
    status: { code: 2 },
  })
  expect(second).toMatchObject({
    parentSpanId: '00000000000000aa',
    kind: 1,
    endTimeUnixNano: '1764400000009000000',
  })
  expect(second?.attributes.at(-1)).toEqual({ key: 'flotilla.open', value: { boolValue: true } })
})

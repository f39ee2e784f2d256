import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import type { SpanView } from '@flotilla/protocol/trace-api'
import { describe, expect, it } from 'vitest'
import { callsOfSpans } from './span-calls.ts'

const aSpan = (part: Partial<SpanView> = {}): SpanView => ({
  span_id: 's',
  parent_id: null,
  run_id: 'run_1',
  agent_id: 'a',
  name: 'execute_tool run_command',
  kind: 'internal',
  status: 'ok',
  started_at: 100,
  ended_at: 150,
  attributes: { 'gen_ai.tool.name': 'run_command' },
  ...part,
})
const call = { agent_id: 'a', run_id: 'run_1' }
const started = ([seq, at, step]: readonly [number, number, number], name = 'run_command'): FleetEvent => ({
  seq,
  at,
  body: { type: 'tool.started', ...call, step, name, input: { step } },
})
const ended = ([seq, at, step]: readonly [number, number, number], name = 'run_command'): FleetEvent => ({
  seq,
  at,
  body: { type: 'tool.ended', ...call, step, name, output: `of ${step}`, ok: step !== 2 },
})

const callOfSpan = (span: SpanView, events: readonly FleetEvent[]) =>
  callsOfSpans([span], events).get(span.span_id) ?? null

describe('the tool call of a span', () => {
  it('the tool call of a span is the one that began and ended when it did, with what it was given and gave', () => {
    const events = [started([1, 40, 1]), ended([2, 60, 1]), started([3, 100, 2]), ended([4, 150, 2])]
    expect(callOfSpan(aSpan(), events)).toEqual({
      name: 'run_command',
      input: { step: 2 },
      output: 'of 2',
      ok: false,
      pictures: [],
    })
  })

  it('the tool call of a span has the name that its agent gave it, where the span says only that it is another', () => {
    const events = [started([1, 100, 1], 'their_tool'), ended([2, 150, 1], 'their_tool')]
    const span = aSpan({ attributes: { 'gen_ai.tool.name': 'other' } })
    expect(callOfSpan(span, events)?.name).toBe('their_tool')
  })

  it('the tool call of a span has no result while it goes on', () => {
    expect(callOfSpan(aSpan({ ended_at: null }), [started([1, 100, 1])])?.output).toBe(null)
  })

  it('the tool call of a span is unknown where the events are gone, and for what is no call', () => {
    expect(callOfSpan(aSpan(), [ended([4, 150, 2])])).toBe(null)
    expect(callOfSpan(aSpan({ attributes: {} }), [started([1, 100, 1])])).toBe(null)
  })

  it('tool calls that began and ended at once are shown each at its span', () => {
    const events = [started([1, 100, 1]), started([2, 100, 1]), ended([3, 150, 1]), ended([4, 150, 1])].map(
      (event, index) =>
        event.body.type === 'tool.started'
          ? { ...event, body: { ...event.body, input: { path: `file-${index}` } } }
          : event,
    )
    const calls = callsOfSpans([aSpan({ span_id: 's1' }), aSpan({ span_id: 's2' })], events)
    expect([calls.get('s1')?.input, calls.get('s2')?.input]).toEqual([{ path: 'file-0' }, { path: 'file-1' }])
  })

  it('a span without the name of its tool leaves the call of a named span to it', () => {
    const events = [started([1, 100, 1]), started([2, 100, 1], 'their_tool')]
    const other = aSpan({ span_id: 'o', attributes: { 'gen_ai.tool.name': 'other' } })
    const calls = callsOfSpans([other, aSpan()], events)
    expect([calls.get('o')?.name, calls.get('s')?.name]).toEqual(['their_tool', 'run_command'])
  })
})

import type { RunRecordView } from '@flotilla/protocol/replay-api'
import type { SpanView } from '@flotilla/protocol/trace-api'
import { describe, expect, it } from 'vitest'
import { promptOf, stepOfSpan } from './model-step.ts'

const step = (
  [number, at]: readonly [number, number],
  text: string,
  more: Partial<RunRecordView['steps'][number]> = {},
) => ({ step: number, turn: 1, at, model: 'm', text, calls: [], ...more })
const span = (from: number, until: number | null, model: string | undefined = 'm') =>
  ({
    started_at: from,
    ended_at: until,
    attributes: model === undefined ? {} : { 'gen_ai.request.model': model },
  }) as unknown as SpanView

const record = {
  turns: [
    { turn: 1, asked: 'Count' },
    { turn: 2, asked: 'And now?' },
  ],
  steps: [
    step([1, 10_000], 'I look.', { calls: [{ tool: 'ls', arguments: '{}', result: 'two' }] }),
    step([2, 30_000], '', { calls: [{ tool: 'wc', arguments: '{"a":1}', result: null }] }),
    step([3, 50_000], 'Seven.'),
    step([4, 90_000], 'Eight.', { turn: 2 }),
  ],
}

describe('the model call of a span', () => {
  it('is the recorded step whose answer came when the span ended', () => {
    expect(stepOfSpan(span(5000, 10_004), record)?.step).toBe(1)
    expect(stepOfSpan(span(20_000, 30_100), record)?.step).toBe(2)
    expect(stepOfSpan(span(60_000, 70_000), record)).toBeNull()
    expect(stepOfSpan({ ...span(5000, 10_004), attributes: {} }, record)).toBeNull()
  })

  it('had the request of its turn and all that followed before it as its prompt', () => {
    const parts = (number: number) => {
      const found = record.steps[number - 1]
      return found ? promptOf(found, record).map(({ who, text }) => `${who}: ${text}`) : []
    }
    expect(parts(1)).toEqual(['Request: Count'])
    expect(parts(3)).toEqual([
      'Request: Count',
      'Answer: I look.',
      'Calls ls: {}',
      'Result of ls: two',
      'Calls wc: {"a":1}',
    ])
    expect(parts(4)).toEqual(['Request: And now?'])
  })
})

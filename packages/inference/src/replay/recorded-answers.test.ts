import { describe, expect, test } from 'vitest'
import type { RecordedRun, RecordedStep } from './read-record.ts'
import { historyOf, resultOf } from './recorded-answers.ts'

function aStep(at: number, results: readonly (string | null)[], said: readonly string[] = []): RecordedStep {
  const calls = results.map(() => ({ name: 'look', arguments: '{}' }))
  const exchange = { number: at, turn: 0, at, purpose: 'loop', model: 'm', tools: {}, messages: [] } as const
  return { at, results, said, exchange: { ...exchange, answer: { content: '', calls } } }
}

const record: RecordedRun = {
  steps: [aStep(0, ['before']), aStep(1, ['seen', 'Error (denied): no'], ['and this']), aStep(2, [null])],
  turns: [
    { from: 0, to: 1, asked: 'first', history: [] },
    { from: 1, to: 3, asked: 'second', history: [{ role: 'user', content: 'first' }] },
  ],
  beside: 0,
}
const replay = { turn: 1, until: null }

describe('the recorded result of a call', () => {
  test('the recorded result of a call is what the call returned then, and whether that was an error', () => {
    expect(resultOf({ record, replay }, 'recorded_1_0')).toEqual({ output: 'seen', ok: true, ended: false })
    expect(resultOf({ record, replay }, 'recorded_1_1')).toMatchObject({ ok: false, ended: false })
  })

  test('the recorded result of a call ends what is replayed where nothing was recorded of it', () => {
    expect(resultOf({ record, replay }, 'recorded_2_0')).toMatchObject({ ended: true })
  })

  test.each([
    ['another turn', replay, 'recorded_0_0'],
    ['a step that a fork leaves to the other model', { turn: 1, until: 2 }, 'recorded_2_0'],
    ['a call that was not made', replay, 'recorded_1_7'],
    ['a step that is not there', replay, 'recorded_9_0'],
    ['a turn that is not there', { turn: 5, until: null }, 'recorded_1_0'],
    ['no recorded id', replay, 'call_1'],
  ])('no recorded result of a call exists for %s', (_what, at, id) => {
    expect(resultOf({ record, replay: at }, id)).toBeNull()
  })
})

test('the history of a replay is what was said before its turn, and in its middle up to where a fork begins', () => {
  const before = [{ role: 'user', content: 'first' }]
  expect(historyOf({ record, replay })).toEqual({
    messages: before,
    said: [{ answers: 1, text: 'and this' }],
  })
  expect(historyOf({ record, replay: { turn: 1, until: 1 } })).toEqual({ messages: before, said: [] })
  expect(historyOf({ record, replay: { turn: 5, until: null } })).toEqual({ messages: [], said: [] })
})

import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { describe, expect, test } from 'vitest'
import { createStreamedTexts } from './streamed-texts.ts'

function someTexts() {
  const texts = createStreamedTexts()
  let seq = 0
  const take = (body: FleetEventBody) => texts.take({ seq: ++seq, at: 0, body })
  const say = (runId: string, content: string, more: { answer?: number; begins?: true } = {}) =>
    take({ type: 'text.streamed', agent_id: 'scout', run_id: runId, content, ...more })
  const end = (runId: string, state: 'done' | 'waiting') =>
    take({ type: 'run.changed', agent_id: 'scout', run_id: runId, parent_id: null, state, outcome: null })
  const of = (runId: string) =>
    texts.of(runId).map(({ seq: number, body }) => [number, body.type === 'text.streamed' && body.content])
  return { texts, say, end, of }
}

describe('the text that a run streamed so far', () => {
  test('is one event for each answer, which replaces what a reader has of it', () => {
    const { texts, say, of } = someTexts()
    say('run_1', 'One', { answer: 1, begins: true })
    say('run_1', ', two', { answer: 1 })
    say('run_2', 'Other')
    say('run_1', 'Three', { answer: 2, begins: true })
    expect(of('run_1')).toEqual([
      [1, 'One, two'],
      [4, 'Three'],
    ])
    expect(texts.of('run_1')[0]?.body).toMatchObject({ answer: 1, begins: true })
    expect(of('run_2')).toEqual([[3, 'Other']])
  })

  test('a repeated attempt of an answer replaces the abandoned one', () => {
    const { say, of } = someTexts()
    say('run_1', 'Lost', { answer: 1, begins: true })
    say('run_1', 'Kept', { answer: 1, begins: true })
    expect(of('run_1')).toEqual([[1, 'Kept']])
  })

  test('is forgotten at the end of the run, and not while it waits', () => {
    const { say, end, of } = someTexts()
    say('run_1', 'One')
    end('run_1', 'waiting')
    expect(of('run_1')).toHaveLength(1)
    end('run_1', 'done')
    expect(of('run_1')).toEqual([])
  })

  test('is bounded for one run and over all runs', () => {
    const { texts, say, of } = someTexts()
    for (let piece = 0; piece < 10; piece++) say('run_1', 'x'.repeat(10_000), { answer: piece % 3 })
    const kept = texts
      .of('run_1')
      .map(({ body }) => (body.type === 'text.streamed' ? body.content.length : 0))
    expect(kept.reduce((sum, one) => sum + one, 0)).toBe(64_000)
    for (let run = 0; run < 500; run++) say(`run_a${run}`, 'x')
    expect([of('run_1').length, of('run_a0').length, of('run_a499').length]).toEqual([0, 1, 1])
  })
})

import type { TaskResult } from '@flotilla/protocol/agent-api'
import { describe, expect, test } from 'vitest'
import { failedOutcome, outcomeOf, withInterim } from './run-record.ts'
import type { RunRecord } from './run-record.ts'

function result(more: Partial<TaskResult>): TaskResult {
  return { status: 'complete', response: '', result: null, error: null, ...more } as TaskResult
}
const error = (code: string, detail: string) => ({ code, detail }) as TaskResult['error']

describe('what an agent says of its end', () => {
  test.each([
    ['complete', 'done', undefined],
    ['cancelled', 'cancelled', 'cancelled'],
    ['timeout', 'failed', 'upstream-timeout'],
    ['failed', 'failed', 'internal-error'],
  ] as const)('%s is %s in the ledger', (status, outcome, code) => {
    const read = outcomeOf(result({ status, response: 'words' }))
    expect(read).toMatchObject({ status: outcome, text: 'words' })
    expect(read.code).toBe(code)
  })

  test('an outcome keeps the code that the agent gives for a failure, and cuts it', () => {
    for (const status of ['timeout', 'failed'] as const) {
      expect(outcomeOf(result({ status, error: error('model-failed', 'x') })).code).toBe('model-failed')
      expect(outcomeOf(result({ status, error: error('c'.repeat(500), 'x') })).code).toBe('c'.repeat(64))
    }
    expect(outcomeOf(result({ status: 'failed', error: error('', 'x') })).code).toBe('internal-error')
  })

  test('an outcome without text says why it failed, or nothing where no reason exists', () => {
    expect(outcomeOf(result({ status: 'failed', error: error('c', 'the reason') })).text).toBe('the reason')
    expect(outcomeOf(result({ response: 'words', error: error('c', 'the reason') })).text).toBe('words')
    expect(outcomeOf(result({})).text).toBe('')
  })

  test('an agent cannot exceed the size limit of an outcome', () => {
    expect(outcomeOf(result({ response: 'x'.repeat(100_001) })).text).toHaveLength(100_000)
  })

  test('an outcome contains a result only where there is one', () => {
    expect(outcomeOf(result({ result: { rows: 3 } })).result).toEqual({ rows: 3 })
    expect(outcomeOf(result({}))).not.toHaveProperty('result')
  })
})

describe('an end that the mesh finds itself', () => {
  test('an outcome that the mesh decides keeps what the run had said so far', () => {
    const run = { interimText: 'Half of it.' } as RunRecord
    expect(failedOutcome(run, 'upstream-timeout', 'It was too slow.')).toEqual({
      status: 'failed',
      code: 'upstream-timeout',
      text: 'It was too slow.\n\nSaid so far: Half of it.',
    })
    for (const interimText of [null, '']) {
      expect(withInterim({ interimText } as RunRecord, 'It was too slow.')).toBe('It was too slow.')
    }
  })
})

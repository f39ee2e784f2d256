import { describe, expect, test } from 'vitest'
import { markStates } from './coverage-marks.ts'

const ledger = `  { line: 1, id: 'limits:one', state: 'planned', by: 'webhook', text: 'One is planned.' },
  { line: 2, id: 'limits:two', state: 'covered', text: "Two is the agent's." },
  { line: 3, id: 'limits:three', state: 'outside', why: 'not ours', text: 'Three.' },
`

describe('markStates', () => {
  test('a planned clause that is cited becomes covered and an uncited covered one planned', () => {
    expect(markStates(ledger, new Set(['limits:one']))).toEqual({
      source: ledger
        .replace("'limits:one', state: 'planned'", "'limits:one', state: 'covered'")
        .replace("'limits:two', state: 'covered'", "'limits:two', state: 'planned'"),
      covered: ['limits:one'],
      planned: ['limits:two'],
    })
  })

  test('marking twice changes nothing more, and unmarking gives the first text back', () => {
    const once = markStates(ledger, new Set(['limits:one', 'limits:two']))
    expect(markStates(once.source, new Set(['limits:one', 'limits:two'])).source).toBe(once.source)
    expect(markStates(once.source, new Set(['limits:two'])).source).toBe(ledger)
  })

  test('a clause that is outside keeps its state though a test cites it', () => {
    expect(markStates(ledger, new Set(['limits:two', 'limits:three'])).source).toBe(ledger)
  })
})

import { describe, expect, test } from 'vitest'
import { proofsOf, unproved } from './proofs.ts'
import type { RecordedTest } from './test-record.ts'

function aTest(state: RecordedTest['state'], ...verifies: readonly string[]): RecordedTest {
  return {
    file: 'a.test.ts',
    name: `is ${state}`,
    project: 'unit',
    state,
    durationMs: 1,
    verifies: [...verifies],
  }
}

const covered = (id: string) => ({ id, state: 'covered' })

describe('what a run proves of a clause', () => {
  test.each([
    [['passed'], 'proved'],
    [['passed', 'skipped'], 'proved'],
    [['passed', 'failed'], 'failed'],
    [['skipped'], 'not run'],
    [[], 'not run'],
  ] as const)('%j is %s', (states, state) => {
    const tests = states.map((one) => aTest(one, 'limits:one'))
    expect(proofsOf([covered('limits:one')], tests)).toEqual([{ id: 'limits:one', state, tests }])
  })

  test('a test proves each clause that it cites, and no other', () => {
    const proofs = proofsOf(
      [covered('limits:one'), covered('limits:two'), covered('limits:three')],
      [aTest('passed', 'limits:one', 'limits:two'), aTest('passed')],
    )
    expect(proofs.map(({ state }) => state)).toEqual(['proved', 'proved', 'not run'])
  })

  test('a clause that is planned or outside wants no proof, and one that was decided otherwise does', () => {
    const states = ['planned', 'outside', 'deviates'].map((state) => ({ id: `limits:${state}`, state }))
    expect(proofsOf(states, [])).toEqual([{ id: 'limits:deviates', state: 'not run', tests: [] }])
  })

  test('whatever is not proved is named with its tests', () => {
    const proofs = proofsOf(
      [covered('limits:one'), covered('limits:two'), covered('limits:three')],
      [aTest('skipped', 'limits:one'), aTest('passed', 'limits:two')],
    )
    expect(unproved(proofs)).toEqual([
      'limits:one: not run; a.test.ts "is skipped" (skipped)',
      'limits:three: not run; no test that cites it was among those run',
    ])
  })
})

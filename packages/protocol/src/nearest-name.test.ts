import { expect, test } from 'vitest'
import { nearestNames } from './nearest-name.ts'

test('the names most like a wrong one come first, whatever its length', () => {
  const known = ['operator', 'auditor', 'worker', 'Writer']
  expect(nearestNames('wroker', known, 2)).toEqual(['worker', 'Writer'])
  expect(nearestNames('my worker', known, 1)).toEqual(['worker'])
  expect(nearestNames('x'.repeat(1e6), known, 9)).toHaveLength(4)
  expect(nearestNames('a', [], 3)).toEqual([])
})

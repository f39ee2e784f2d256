import { expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'

test('a delay is doubled for each further failure, up to its maximum', () => {
  const delays = [0, 1, 2, 3, 4, 5, 1e9].map((failures) => backoffMs({ firstMs: 100, maxMs: 1500 }, failures))
  expect(delays).toEqual([100, 100, 200, 400, 800, 1500, 1500])
})

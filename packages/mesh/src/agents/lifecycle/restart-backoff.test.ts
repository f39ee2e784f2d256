import { expect, test } from 'vitest'
import { restartDueAt } from './restart-backoff.ts'

test.each<[readonly number[], number, number]>([
  [[], 1000, 31_000],
  [[0], 1000, 61_000],
  [[0, 0], 1000, 121_000],
  [[0, 0, 0], 1000, 3_600_000],
  [[0, 5_000_000, 5_000_000], 5_000_000, 5_240_000],
  [Array.from({ length: 16 }, () => 0), 9_000_000, 9_600_000],
])('restarts %j and a failure at %i are due at %i', (restarts, failedAt, due) => {
  expect(restartDueAt(restarts, failedAt)).toBe(due)
})

import { expect, it } from 'vitest'
import { proposeMemoryMb } from './propose-size.ts'

const mb = 1024 * 1024

it.each([
  [100, 384, null],
  [330, 384, 768],
  [384, 384, 768],
  [40, 384, 128],
  [20, 128, null],
  [300, 2048, 640],
])('a peak of %d MB in %d MB proposes %s', (peak, limit, proposed) => {
  expect(proposeMemoryMb({ peakBytes: peak * mb, limitBytes: limit * mb })).toBe(proposed)
})

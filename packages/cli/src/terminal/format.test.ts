import { expect, test } from 'vitest'
import { formatDuration } from './format.ts'

test('a duration names a second unit only where it has some of it', () => {
  const said = [0, 999, 59_900, 60_000, 119_700, 300_000, 301_000, 3_600_000, 3_660_000].map(formatDuration)
  expect(said).toEqual([
    '0 ms',
    '999 ms',
    '59.9 s',
    '1 min',
    '2 min',
    '5 min',
    '5 min 1 s',
    '1 h',
    '1 h 1 min',
  ])
})

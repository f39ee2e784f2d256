import { expect, test } from 'vitest'
import { firedWords } from './cron.ts'

test('a job says how often it fired, and beside it only what went otherwise', () => {
  const job = { run_count: 12, skip_count: 0, error_count: 0, errors_in_row: 0 }
  expect(firedWords(job)).toBe('12')
  expect(firedWords({ ...job, skip_count: 3 })).toBe('12, 3 skipped')
  expect(firedWords({ ...job, error_count: 1 })).toBe('12, 1 error')
  expect(firedWords({ ...job, skip_count: 3, error_count: 2, errors_in_row: 2 })).toBe(
    '12, 3 skipped, 2 errors, 2 in a row',
  )
})

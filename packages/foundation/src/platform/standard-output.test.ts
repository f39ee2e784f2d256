import { expect, test } from 'vitest'
import { lossLine } from './standard-output.ts'

test('the report of a loss is a line of the log in its own form, and names the cause', () => {
  const line = lossLine({ lines: 12, code: 'ENOSPC', pid: 7, at: 0 })
  expect(JSON.parse(line)).toEqual({
    level: 40,
    time: '1970-01-01T00:00:00.000Z',
    pid: 7,
    dropped: 12,
    msg: 'dropped 12 log lines: no space left (ENOSPC)',
  })
})

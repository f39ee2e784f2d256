import { expect, test } from 'vitest'
import { formatLogLine } from './format-log.ts'

test('a fact of the log is a sentence with its moment, and with what belongs to it', () => {
  const line = '{"time":1795410836423,"level":"info","msg":"run started","runId":"run_1","fence":1}'
  expect(formatLogLine(line)).toBe('05:13:56 info  run started runId=run_1 fence=1')
})

test.each([
  'plain words',
  '{"time":"now","msg":"x"}',
  '{"time":1e300,"msg":"x"}',
  '{"time":1,"msg":{}}',
  '{broken',
  'null',
])('%s stays as it is', (line) => {
  expect(formatLogLine(line)).toBe(line)
})

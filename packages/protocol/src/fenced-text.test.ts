import { expect, test } from 'vitest'
import { fenced, longestTicks } from './fenced-text.ts'

test('a fence is longer than any row of backticks within, and has three at least', () => {
  expect(fenced('a')).toBe('```\na\n```')
  expect(fenced('a `b` ``` c', 'ts')).toBe('````ts\na `b` ``` c\n````')
  expect(longestTicks('`` ` ````` x')).toBe(5)
  expect(longestTicks('none')).toBe(0)
})

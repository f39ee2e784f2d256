import { expect, test } from 'vitest'
import { createThinkingTags } from './thinking-tags.ts'

/** Processor time for one text, in milliseconds. */
function costMs(text: string): number {
  const tags = createThinkingTags()
  const before = process.cpuUsage()
  tags.take(text)
  tags.rest()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

test.each([
  ['pairs of tags', '<think></think>a'],
  ['pairs of tags in brackets', '[THINK][/THINK]a'],
  ['opening tags in backticks', '<think>', '<think></think>`'],
  ['closing tags in backticks', '</think>', 'words `'],
])('each character of many %s in one text is read a few times', (_what, part, start = '') => {
  const textOf = (count: number) => start + part.repeat(count)
  costMs(textOf(4000))
  // Sixteen times the text; reading all of it for each tag would take 256 times as long.
  expect(costMs(textOf(64_000))).toBeLessThan(60 * Math.max(costMs(textOf(4000)), 5))
})

test.each([
  ['<THINK>a</Think>b', 'b', 'a'],
  ['[THINK]a[/think]b', 'b', 'a'],
  ['<think>İİ a</think>b', 'b', 'İİ a'],
  ['<think>a</think>b `<think>c</think>` d', 'b `<think>c</think>` d', 'a'],
  ['<think>a</think>b "<think>" d', 'b "<think>" d', 'a'],
  ['<think>a</think>`x` <think>c</think>d', '`x` d', 'ac'],
])('%s says and thinks', (whole, text, thought) => {
  const tags = createThinkingTags()
  const [first, last] = [tags.take(whole), tags.rest()]
  expect([first.text + last.text, first.thought + last.thought]).toEqual([text, thought])
})

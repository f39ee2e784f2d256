import { expect, test } from 'vitest'
import { createEventLines } from './event-lines.ts'

const eventMaxChars = 16 * 1024 * 1024

/** Processor time for a data line of 4 MB that is no whole JSON text, and many lines after it, in milliseconds. */
function costMs(linesAfter: number): number {
  const lines = createEventLines(eventMaxChars)
  const text = `data: {${'x'.repeat(4 * 1024 * 1024)}\n${'event: a\n'.repeat(linesAfter)}`
  const before = process.cpuUsage()
  lines.push(text)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

test('a long data line is examined once, however many lines follow in its event', () => {
  costMs(1)
  const one = Math.max(costMs(1), 10)
  // Examining it with each line would take a thousand times as long.
  expect(costMs(1000)).toBeLessThan(50 * one)
})

test.each([
  [
    'an event',
    'data: {"a":1}\nevent: b\ndata: 2\n\n',
    [
      ['message', '{"a":1}'],
      ['b', '2'],
    ],
  ],
  [
    'data of its own',
    'data: {"a":1}\ndata: {"b":2}\n\n',
    [
      ['message', '{"a":1}'],
      ['message', '{"b":2}'],
    ],
  ],
  ['a line of it', 'data: {"a":\ndata: [1]}\n\n', [['message', '{"a":\n[1]}']]],
  ['a second line of text', 'data: {"a":1}\ndata: x\n\n', [['message', '{"a":1}\nx']]],
])('a data line is followed by %s', (_what, text, frames) => {
  const lines = createEventLines(eventMaxChars)
  expect(lines.push(text).map(({ event, data }) => [event, data])).toEqual(frames)
})

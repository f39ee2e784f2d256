import { expect, test } from 'vitest'
import { createServerSentEvents } from './server-sent-events.ts'

const stream =
  'data: {"a":"ä😀"}\n\n: keep-alive\n\ndata:one\r\ndata: two\r\n\r\nevent: x\nid: 7\ndata: three\n\ndata: open'

test.each([1, 2, 3, 5, 7, 1000])('events are the same however the bytes are cut: by %i', (size) => {
  const events = createServerSentEvents(1000)
  const bytes = Buffer.from(stream)
  const seen: string[] = []
  for (let at = 0; at < bytes.length; at += size) seen.push(...events.push(bytes.subarray(at, at + size)))
  expect(seen).toEqual(['{"a":"ä😀"}', 'one\ntwo', 'three'])
})

test('a line that never ends is refused at the bound', () => {
  const events = createServerSentEvents(100)
  expect(() => events.push(Buffer.from(`data: ${'x'.repeat(200)}`))).toThrow('longer than 100')
})

test('an event of many short lines is refused at the bound', () => {
  const events = createServerSentEvents(100)
  expect(() => events.push(Buffer.from('data:x\n'.repeat(50)))).toThrow('longer than 100')
})

test('comments of any number count for nothing', () => {
  const events = createServerSentEvents(100)
  expect(events.push(Buffer.from(`data: a\n${': still here\n'.repeat(1000)}\n`))).toEqual(['a'])
})

test('a million single bytes are taken, where a quadratic reader would not end in our time', () => {
  const events = createServerSentEvents(2_000_000)
  const one = Buffer.from('x')
  events.push(Buffer.from('data:'))
  for (let count = 0; count < 1_000_000; count++) events.push(one)
  expect(events.push(Buffer.from('\n\n'))[0]).toHaveLength(1_000_000)
})

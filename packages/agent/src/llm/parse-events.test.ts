import { expect, test } from 'vitest'
import { createEventParser } from './parse-events.ts'

const stream = ': hello\r\n\r\ndata: {"a":"ü\\n"}\r\n\r\nevent: x\ndata: one\ndata:two\n\ndata: [DONE]\n\n'
const events = ['{"a":"ü\\n"}', 'one\ntwo', '[DONE]']

test('events are the same wherever the stream is cut', () => {
  for (let first = 0; first <= stream.length; first += 1) {
    for (let second = first; second <= stream.length; second += 1) {
      const parse = createEventParser()
      const pieces = [stream.slice(0, first), stream.slice(first, second), stream.slice(second)]
      expect(pieces.flatMap((piece) => parse(piece))).toEqual(events)
    }
  }
})

test('an event without its empty line is not one yet', () => {
  expect(createEventParser()('data: half\n')).toEqual([])
})

test('a lone carriage return ends a line', () => {
  expect(createEventParser()('data: a\r\rdata: b\r\r.')).toEqual(['a', 'b'])
})

test('an event that never ends is refused', () => {
  const parse = createEventParser()
  expect(() => parse(`data: ${'x'.repeat(9 * 1024 * 1024)}`)).toThrow(RangeError)
})

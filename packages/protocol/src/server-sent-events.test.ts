import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createServerSentEventParser } from './server-sent-events.ts'
import type { ServerSentEvent } from './server-sent-events.ts'

const eventMaxChars = 1000
const read = (...pieces: readonly string[]): readonly ServerSentEvent[] => {
  const parser = createServerSentEventParser(eventMaxChars)
  return pieces.flatMap((piece) => parser.push(piece))
}
const message = (data: string): ServerSentEvent => ({ event: 'message', data })

/** A piece of a line: of a known field, a comment, or an unknown field. */
const word = fc.string({ unit: fc.constantFrom('a', 'ü', ':', ' ', '{"x":1}', '\uFEFF', '🙂'), maxLength: 6 })
const line = fc.oneof(
  word.map((text) => `data: ${text}`),
  word.map((text) => `data:${text}`),
  word.map((text) => `event: ${text}`),
  word.map((text) => `: ${text}`),
  word.map((text) => `id: ${text}`),
  fc.constantFrom('data', 'event', '', '', ''),
)
const lineEnd = fc.constantFrom('\n', '\r', '\r\n')

/** The format implemented in another way: the whole text is split into lines, which are grouped into events. */
function model(text: string): ServerSentEvent[] {
  const lines = text.split(/\r\n|\n|\r/).slice(0, -1)
  const events: ServerSentEvent[] = []
  let data: string[] = []
  let name = ''
  for (const entry of lines) {
    if (entry === '') {
      if (data.length > 0) events.push({ event: name || 'message', data: data.join('\n') })
      data = []
      name = ''
    } else if (/^data(?::|$)/.test(entry)) data.push(entry.replace(/^data(?:: ?)?/, ''))
    else if (/^event(?::|$)/.test(entry)) name = entry.replace(/^event(?:: ?)?/, '')
  }
  return events
}

describe('server-sent events', () => {
  test('server-sent events are the same wherever the stream is cut and whichever way its lines end', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(line, lineEnd), { maxLength: 20 }),
        fc.array(fc.nat({ max: 12 }), { maxLength: 60 }),
        (lines, cuts) => {
          const text = lines.map(([content, end]) => content + end).join('')
          const pieces: string[] = []
          let at = 0
          for (const size of cuts) {
            pieces.push(text.slice(at, at + size))
            at += size
          }
          pieces.push(text.slice(at))
          expect(read(...pieces)).toEqual(model(text))
          expect(read(...text.split(''))).toEqual(model(text))
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('server-sent events give no event for comments, and keep an unfinished one back', () => {
    expect(read(': still here\n\n')).toEqual([])
    expect(read('data: half\n')).toEqual([])
    expect(read('data: half', '\n\n')).toEqual([message('half')])
  })

  test('end at a lone carriage return at once, and do not count the half of a cut pair twice', () => {
    expect(read('data: a\r\r')).toEqual([message('a')])
    expect(read('data: a\r', '\n\r', '\ndata: b\n\n')).toEqual([message('a'), message('b')])
  })

  test('server-sent events may begin with a byte order mark', () => {
    expect(read('\uFEFFdata: a\n\n')).toEqual([message('a')])
  })

  test.each([
    ['one line that never ends', (_n: number) => 'xxxxxxxxxx'],
    ['lines that no blank line follows', (_n: number) => 'data: xxxxxxxx\n'],
  ])('server-sent events of %s are refused past the bound and not held', (_name, piece) => {
    const parser = createServerSentEventParser(eventMaxChars)
    expect(() => {
      for (let sent = 0; sent < 200; sent++) parser.push(piece(sent))
    }).toThrow(RangeError)
  })

  test('server-sent events in any number pass one bound each', () => {
    const text = `data: ${'x'.repeat(900)}\n\n`
    expect(read(...Array.from({ length: 50 }, () => text))).toHaveLength(50)
  })

  test('events that arrive by single characters cost no more scans than whole blocks', () => {
    const parser = createServerSentEventParser(2_000_000)
    const text = `data: ${'x'.repeat(1_000_000)}\n\n`
    let events = 0
    for (const character of text) events += parser.push(character).length
    expect(events).toBe(1)
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRewriter } from './rewrite-stream.ts'
import type { Rewriter } from './rewrite-stream.ts'

const upper = (text: string): string => text.replaceAll('é', 'É')

/** The stream after rewriting, from bytes that are cut at these places. */
function rewritten(rewriter: Rewriter, text: string, cuts: readonly number[]): string {
  const bytes = Buffer.from(text)
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b)
  const pieces = [0, ...places].map((from, at) => bytes.subarray(from, places[at]))
  return Buffer.concat([...pieces.map((piece) => rewriter.push(piece)), rewriter.end()]).toString()
}

const events =
  'event: message\r\ndata: é1\r\ndata: 2\r\nid: 7\r\n\r\n: ping\n\ndata:é\n\ndatabase: é\rdata: x\r\rdata: é'

describe('a stream whose messages are rewritten', () => {
  test.each([
    ['lines', 'é1\r\né2\n\né3', 'É1\r\nÉ2\n\nÉ3'],
    ['whole', 'é1\n\né2', 'É1\n\nÉ2'],
    [
      'events',
      events,
      'event: message\nid: 7\ndata: É1\ndata: 2\r\n\r\n: ping\n\ndata: É\n\ndatabase: é\rdata: x\r\rdata: É',
    ],
  ] as const)('is the same however its bytes are cut, divided by %s', (division, text, expected) => {
    fc.assert(
      fc.property(fc.array(fc.nat()), (cuts) => {
        expect(rewritten(createRewriter(division, 1000, upper), text, cuts)).toBe(expected)
      }),
    )
  })

  test('passes a message beyond the limit as it is, and rewrites the next one', () => {
    const rewriter = createRewriter('lines', 16, upper)
    const long = 'é'.repeat(20)
    expect(rewritten(rewriter, `${long}\né\n`, [8, 16, 24, 32, 41])).toBe(`${long}\nÉ\n`)
  })

  test('passes a complete event at once', () => {
    const rewriter = createRewriter('events', 1000, upper)
    const pieces = ['data: é\r', '\n', '\r', '\n'].map((piece) =>
      rewriter.push(Buffer.from(piece)).toString(),
    )
    expect(pieces).toEqual(['', '', '', 'data: É\r\n\r\n'])
  })
})

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { wires } from '../../../../../../tests/support/model-wires.ts'
import { createGoogleWriter } from '../google/google-writer.ts'
import { createClaudeWriter } from './claude-writer.ts'

type CreateWriter = (asked: { readonly stream: boolean }) => {
  take(bytes: Uint8Array): string
  end(): string
}

function cut(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set([0, ...cuts.map((at) => at % (bytes.length + 1)), bytes.length])]
  const sorted = places.toSorted((a, b) => a - b)
  return sorted.slice(1).map((at, index) => bytes.subarray(sorted[index], at))
}

function rewritten(create: CreateWriter, stream: boolean, pieces: readonly Uint8Array[]): string {
  const writer = create({ stream })
  return pieces.map((piece) => writer.take(piece)).join('') + writer.end()
}

/** The wire of the test splits text at blanks, so no text here ends with one. */
const words = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((text) => text.trim() === text)
const input = fc.dictionary(words, fc.oneof(words, fc.integer(), fc.boolean(), fc.array(words)))
const turn = fc
  .record({
    thought: fc.option(fc.record({ text: words, signature: fc.base64String({ minLength: 4 }) }), {
      nil: undefined,
    }),
    text: fc.option(words, { nil: undefined }),
    call: fc.option(fc.record({ id: fc.constant('toolu_1'), name: fc.constant('look'), input }), {
      nil: undefined,
    }),
  })
  .filter(({ text, call }) => text !== undefined || call !== undefined)

/** Parts of a Google answer that follow each other and belong together are one text. */
function joinedParts(answer: string): unknown {
  const value = JSON.parse(answer) as { candidates: { content: { parts: { text?: string }[] } }[] }
  const [candidate] = value.candidates
  return {
    ...value,
    candidates: [{ ...candidate, content: candidate?.content.parts.filter(({ text }) => text !== '') }],
  }
}

describe.each([
  [
    'anthropic',
    (asked: { stream: boolean }) => createClaudeWriter({ ...asked, keepsUnknown: true }),
    (text: string): unknown => JSON.parse(text),
  ],
  ['google', createGoogleWriter, joinedParts],
] as const)('an answer of %s', (kind, create, shown) => {
  const wire = wires[kind]

  test('an answer means the same whole, streamed, rewritten from either form, and however the bytes are cut', () => {
    fc.assert(
      fc.property(turn, fc.array(fc.nat(), { maxLength: 20 }), (said, cuts) => {
        const whole = Buffer.from(JSON.stringify(wire.whole(said as never)))
        const events = Buffer.concat(wire.events(said as never).map(wire.frame))
        const expected = shown(rewritten(create, false, [whole]))
        expect(expected).toEqual(shown(whole.toString()))
        expect(shown(rewritten(create, false, cut(events, cuts)))).toEqual(expected)
        const streamed = Buffer.from(rewritten(create, true, cut(whole, cuts)))
        expect(shown(rewritten(create, false, [streamed]))).toEqual(expected)
        const again = Buffer.from(rewritten(create, true, cut(events, cuts)))
        expect(shown(rewritten(create, false, [again]))).toEqual(expected)
      }),
      { numRuns: 150 },
    )
  })

  test('an answer throws nothing but a Problem, whatever the bytes', () => {
    const pieces = fc.constantFrom(
      'event: content_block_delta\n',
      'data: ',
      '{"type":"message_start",',
      '{"candidates":[{',
      '"content":',
      '"message":',
      '[',
      'null',
      '7',
      '"x"',
      '}',
      ']',
      '\n\n',
      '{"type":"message_stop"}',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), fc.boolean(), (parts, stream) => {
        try {
          rewritten(create, stream, [Buffer.from(parts.join(''))])
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/provider-unreadable|upstream-failed/) })
        }
      }),
      { numRuns: 1000 },
    )
  })
})

describe('an error behind the end of a message', () => {
  const frame = (event: { readonly type: string }) =>
    `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  const start = { type: 'message_start', message: { id: 'm', role: 'assistant', content: [] } }
  const begin = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  const text = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } }
  const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }
  const stop = { type: 'message_stop' }
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }

  test.each([
    ['is reported if the message is empty', [start, end, error], true],
    ['is reported if the message has an empty block', [start, begin, end, stop, error], true],
    ['is reported if content followed the end', [start, begin, text, end, text, error], true],
    ['is dropped if the message is complete', [start, begin, text, end, error], false],
    ['is dropped behind the end of a stream that names no reason', [start, begin, text, stop, error], false],
  ])('%s', (_case, events, isReported) => {
    for (const stream of [true, false]) {
      const create: CreateWriter = (asked) => createClaudeWriter({ ...asked, keepsUnknown: true })
      const answer = rewritten(create, stream, [Buffer.from(events.map(frame).join(''))])
      expect(answer.includes('Overloaded'), `stream: ${stream}`).toBe(isReported)
    }
  })
})

describe('an event of a message', () => {
  test('events of a message of unknown types are passed over up to a bound', () => {
    const delta = { type: 'sparkle_delta', text: 'x'.repeat(1024 * 1024) }
    const unknown = `data: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta })}\n\n`
    const writer = createClaudeWriter({ stream: true, keepsUnknown: false })
    const passOver = (times: number) => {
      for (let time = 0; time < times; time++) writer.take(Buffer.from(unknown))
    }
    expect(() => passOver(15)).not.toThrow()
    expect(() => passOver(2)).toThrow(expect.objectContaining({ code: 'upstream-failed' }))
  })

  test('an event of a message passes as the same bytes where official clients can read it', () => {
    const events = Buffer.concat(wires.anthropic.events({ text: 'Hello there' }).map(wires.anthropic.frame))
    const unknown = Buffer.from('event: message_progress\ndata: {"type":"message_progress","at":1}\n\n')
    const create: CreateWriter = (asked) => createClaudeWriter({ ...asked, keepsUnknown: true })
    const all = Buffer.concat([unknown, events])
    expect(rewritten(create, true, [all])).toBe(all.toString())
  })
})

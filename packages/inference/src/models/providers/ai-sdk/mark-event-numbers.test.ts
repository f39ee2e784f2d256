import { unmarked } from '@flotilla/protocol/json-as-written'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { markEventNumbers } from './mark-event-numbers.ts'

async function marked(pieces: readonly Uint8Array[]): Promise<string> {
  const out = await Array.fromAsync(markEventNumbers(pieces as never))
  return Buffer.concat(out).toString()
}

const stream = [
  'data: {"n":9007199254740993,"text":"5 < 6 – ähnlich","small":-0.00123456789012345678}',
  '',
  'event: x\r',
  'data:{"n":[-18446744073709551615, 1234567890123456]}\r',
  '\r',
  'data: 9007199254740993 {"no":"json"',
  'data: {"n":9007199254740995}',
].join('\n')

test('numbers in events are marked and come back as they were, wherever the stream is cut', async () => {
  const bytes = Buffer.from(stream)
  const whole = await marked([bytes])
  expect(whole).toContain('"\ufdd09007199254740993"')
  expect(whole).toContain('"small":-0.0012345678901234567')
  expect(unmarked(whole).match(/-?\d{17,}|\b9007\d*/g)).toEqual([
    '9007199254740993',
    '0012345678901234567',
    '-18446744073709551615',
    '9007199254740993',
    '9007199254740995',
  ])
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 20 }), async (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length]
      expect(await marked(at.slice(1).map((end, index) => bytes.subarray(at[index], end)))).toBe(whole)
    }),
  )
})

test('a text of the model that looks like a mark inside of another text stays a text', () => {
  const input = JSON.stringify({ said: 'the mark "\ufdd09007199254740993" is odd' })
  expect(unmarked(input)).toBe(input)
})

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { inOneGo, stepUnits } from '@flotilla/protocol/secret-text/in-steps'
import { redact, redactInSteps } from './redact.ts'
import { createScrubs } from './scrub.ts'
import { createSecret } from './secret.ts'

const short = createSecret('short', 'abc123')
const long = createSecret('long', 'a-long-secret-value')
/** Offsets at which a key begins at each position around the boundary of two steps. */
const places = Array.from({ length: 40 }, (_, at) => stepUnits - 20 + at)

test.each([
  'sk-abcdefghij',
  'Bearer abcdefghijkl',
  'Bearer \n   abcdefghijkl',
  'flp_0123456789abcdef',
  'abc123',
])('%j is taken out wherever a step ends', (key) => {
  for (const fill of ['words and more ', 'words, more; '])
    for (const at of places) {
      const before = fill.repeat(stepUnits).slice(0, at)
      const text = `${before}"${key}" and ${fill.repeat(4000)}`
      expect(redact(text, [short])).toBe(text.replace(key, '[secret]'))
    }
})

test('no step goes through more than its bound of a text of words, and through the whole in the end', () => {
  const text = 'words, and a-long-secret-value; '.repeat(10_000)
  const scrub = createScrubs()([long, short])
  for (const work of [scrub.inSteps(text), redactInSteps(text, [long, short])]) {
    const steps: number[] = []
    let next = work.next()
    for (; next.done !== true; next = work.next()) steps.push(next.value)
    expect(Math.max(...steps)).toBeLessThanOrEqual(stepUnits + 100)
    expect(steps.length).toBeGreaterThan(text.length / stepUnits)
    expect(next.value).toBe(text.replaceAll('a-long-secret-value', '[secret]'))
  }
  expect(inOneGo(scrub.inSteps(text))).toBe(scrub.text(text))
})

test.each([
  ['signs of one key', `sk-${'a'.repeat(3_000_000)} end`, '[secret] end'],
  ['white space behind Bearer', `Bearer ${' \n'.repeat(1_000_000)}abcdefghijkl end`, '[secret] end'],
  ['a key behind Bearer', `Bearer ${'a'.repeat(3_000_000)} end`, '[secret] end'],
])('no step goes through more than its bound of %s', (_what, text, clean) => {
  const work = redactInSteps(text, [])
  const steps: number[] = []
  let next = work.next()
  for (; next.done !== true; next = work.next()) steps.push(next.value)
  expect(next.value).toBe(clean)
  expect(Math.max(...steps)).toBeLessThanOrEqual(stepUnits)
  expect(steps.reduce((sum, units) => sum + units, 0)).toBeGreaterThan(text.length - 100)
})

/** The reference: one regular expression, without steps. */
const inOneExpression =
  /\b(?:sk|pk|rk|gsk|xai|key)-[\w*.…-]{6,}|\bBearer\s+[\w.~+/=-]{8,}|\bAIza[\w-]{20,}|\bgh[opsu]_\w{16,}|\bflp_[\w-]{16,}/gu

test('redaction takes out just what one expression over the whole text would', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'sk-',
      'xai-',
      'key-',
      'Bearer',
      'Bearer ',
      'AIza',
      'ghp_',
      'flp_',
      ' ',
      '\n',
      '…',
      '*',
      '.',
    ),
    fc.constantFrom('~', '=', '-', '_', 'ä', '😀', '"', 'monkey-', 'a'.repeat(30), '0'.repeat(16), 'abc123'),
    fc.string({ maxLength: 12 }),
    fc.constant('b'.repeat(stepUnits - 20)),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      const text = pieces.join('')
      expect(redact(text, [])).toBe(text.replace(inOneExpression, '[secret]'))
    }),
    { numRuns: 2000 },
  )
})

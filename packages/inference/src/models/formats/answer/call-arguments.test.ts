import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { settleArguments } from './call-arguments.ts'

/** Pieces of a JSON text in which halves of surrogate pairs are written as characters and as escapes. */
const pieces = fc.constantFrom(
  '\\\\',
  '\\"',
  'ud83d',
  'ude00',
  '\\ud83d',
  '\\ude00',
  '\\uDE00',
  'a',
  '\ud83d',
  '\ude00',
)

test('arguments of a call never have half of a surrogate pair in their value', () => {
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), fc.boolean(), (all, isTwice) => {
      const text = `{"q":"${all.join('')}"}`
      const [settled = ''] = settleArguments([isTwice ? JSON.stringify(text) : text])
      const { q } = JSON.parse(settled) as { q: string }
      expect(q.isWellFormed(), settled).toBe(true)
    }),
    { numRuns: 1000 },
  )
})

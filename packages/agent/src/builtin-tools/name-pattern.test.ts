import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fitsPattern } from './name-pattern.ts'

test('a name matches like the regular expression of its pattern', () => {
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?', '😀'), maxLength: 8 })
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '😀', '\n'), maxLength: 10 })
  fc.assert(
    fc.property(pattern, name, (wanted, given) => {
      const source = wanted.replaceAll('.', '\\.').replaceAll(/\*+/g, '.*').replaceAll('?', '.')
      expect(fitsPattern(wanted, given)).toBe(new RegExp(`^${source}$`, 'su').test(given))
    }),
    { numRuns: 2000 },
  )
})

test('no pattern takes for ever, however many stars it has', () => {
  const begun = performance.now()
  expect(fitsPattern(`${'*a'.repeat(99)}*b`, 'a'.repeat(255))).toBe(false)
  expect(performance.now() - begun).toBeLessThan(1000)
})

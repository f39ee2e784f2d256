import process from 'node:process'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { createScrubs } from './scrub.ts'
import { createSecret } from './secret.ts'

// A file of its own, because it measures for seconds, and mutation tests of the scrubber should not wait for it.

/** Many ticks of the coarsest clock, microseconds. */
const leastMicros = 50_000
const value = 'sk-Live_ä"%+/x 9zQ'

describe('scrubbing a long text', () => {
  test.each<[string, string, string]>([
    ['one letter', 'a', `${'a'.repeat(9999)}b`],
    ['percent signs', '%', value],
    ['half escapes', '%4', value],
    ['backslashes', '\\', value],
    ['entities that never end', '&#1', value],
    ['all but the last letter of the value', value.slice(0, -1), value],
    ['the value', value, value],
  ])('takes twice the time for twice the text of %s', (_what, piece, secret) => {
    heedsLesson(30)
    const scrub = createScrubs()([createSecret('a', secret)])
    const timeFor = (chars: number) => {
      const text = piece.repeat(Math.ceil(chars / piece.length))
      const begun = process.threadCpuUsage()
      // CPU time, which other work of the machine does not affect; its clock may tick only every few milliseconds.
      const spentMicros = () => {
        const { user, system } = process.threadCpuUsage(begun)
        return user + system
      }
      let calls = 0
      do {
        scrub.text(text)
        calls++
      } while (spentMicros() < leastMicros)
      return spentMicros() / calls
    }
    timeFor(50_000)
    // A quadratic search would take sixteen times as long in every round.
    const ratios: number[] = []
    while (ratios.length < 8 && !ratios.some((ratio) => ratio < 8))
      ratios.push(timeFor(200_000) / timeFor(50_000))
    expect(Math.min(...ratios)).toBeLessThan(8)
  })
})

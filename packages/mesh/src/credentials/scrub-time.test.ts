import process from 'node:process'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { createScrubs } from './scrub.ts'
import { createSecret } from './secret.ts'

// In a file of its own: it measures for seconds, which a run over the mutants of the scrub does not wait for.

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
      // Time on the processor: what else the machine does is not in it. Its clock may tick every few milliseconds.
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
    // A quadratic search would take sixteen times as long at every try.
    const ratios: number[] = []
    while (ratios.length < 8 && !ratios.some((ratio) => ratio < 8))
      ratios.push(timeFor(200_000) / timeFor(50_000))
    expect(Math.min(...ratios)).toBeLessThan(8)
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { loopPeriodMax, stepLoop } from './loop-detection.ts'
import type { CallRecord } from './loop-detection.ts'

/** Plays calls as the loop does; each call is a text `tool:params:result`. Returns the verdict on each. */
function play(calls: readonly string[]): string[] {
  let window: readonly CallRecord[] = []
  return calls.map((text) => {
    const [tool = '', paramsHash = '', result = ''] = text.split(':')
    const asked = stepLoop(window, { kind: 'asked', call: { tool, paramsHash } })
    window = asked.calls
    if (asked.verdict !== 'run') return asked.verdict
    const ended = stepLoop(window, { kind: 'ended', call: { tool, paramsHash, resultHash: result } })
    window = ended.calls
    return ended.verdict
  })
}
const times = (count: number, call: string): string[] => Array.from({ length: count }, () => call)

describe('loop detection', () => {
  verifies('limits:tool-loop')

  test.each([
    ['two equal calls run', times(2, 'a:1:x'), ['run', 'run']],
    ['the third equal call is warned about', times(3, 'a:1:x'), ['run', 'run', 'warn']],
    ['the fifth is skipped', times(5, 'a:1:x'), ['run', 'run', 'warn', 'warn', 'block']],
    [
      'the tenth ends the loop',
      times(10, 'a:1:x'),
      ['run', 'run', 'warn', 'warn', 'block', 'block', 'block', 'block', 'block', 'terminate'],
    ],
    [
      'another result in between allows one more',
      [...times(3, 'a:1:x'), 'a:1:y', 'a:1:x'],
      ['run', 'run', 'warn', 'run', 'warn'],
    ],
    [
      'results that change are progress',
      ['a:1:p', 'a:1:q', 'a:1:r', 'a:1:s', 'a:1:t', 'a:1:u'],
      times(6, 'run'),
    ],
    ['other parameters are another call', ['a:1:x', 'a:2:x', 'a:3:x', 'a:4:x'], times(4, 'run')],
    [
      'what another tool, or the same with other parameters, answered in between hides no repeat',
      [...times(4, 'a:1:x'), 'b:1:y', 'a:2:z', 'a:1:x'],
      ['run', 'run', 'warn', 'warn', 'run', 'run', 'block'],
    ],
    [
      'it is the latest result that is repeated, not one of long ago',
      ['a:1:y', 'a:1:z', ...times(5, 'a:1:x')],
      ['run', 'run', 'run', 'run', 'warn', 'warn', 'block'],
    ],
    ['another tool is another call', ['a:1:x', 'b:1:x', 'a:1:x', 'b:1:x'], times(4, 'run')],
  ])('%s', (_name, calls, verdicts) => {
    expect(play(calls)).toEqual(verdicts)
  })

  test('memory_search is exempt from all three', () => {
    expect(play(times(12, 'memory_search:1:x'))).toEqual(times(12, 'run'))
  })

  test('the last fifteen calls of a tool with its parameters count, whatever lies between', () => {
    const between = (count: number) => Array.from({ length: count }, (_, index) => `b:${index}:x`)
    expect(play([...times(2, 'a:1:x'), ...between(60), 'a:1:x']).at(-1)).toBe('warn')
    const changed = (count: number) => Array.from({ length: count }, (_, index) => `a:1:${index}`)
    expect(play([...times(2, 'a:1:x'), ...changed(13), 'a:1:x']).at(-1)).toBe('warn')
    expect(play([...times(2, 'a:1:x'), ...changed(14), 'a:1:x']).at(-1)).toBe('run')
  })

  test.each([1, 2, 4, 15, 16, loopPeriodMax])(
    'a circle of %i calls is warned of, skipped and ended like a plain repeat',
    (period) => {
      const circle = Array.from({ length: period }, (_, index) => `tool:${index}:same`)
      const verdicts = play(Array.from({ length: 10 }, () => circle).flat())
      const ofRound = (round: number) => verdicts.slice(round * period, (round + 1) * period)
      const all = (verdict: string) => Array.from({ length: period }, () => verdict)
      expect([0, 1, 2, 3, 4].map(ofRound)).toEqual(['run', 'run', 'warn', 'warn', 'block'].map(all))
      expect(verdicts.indexOf('terminate')).toBe(9 * period)
    },
  )

  test('no calls that always give the same results go on for ever, in whatever order they come', () => {
    const callsOf = fc
      .integer({ min: 1, max: loopPeriodMax })
      .chain((keys) =>
        fc.array(fc.integer({ min: 0, max: keys - 1 }), { minLength: 9 * keys + 1, maxLength: 9 * keys + 1 }),
      )
    fc.assert(
      fc.property(callsOf, (keys) => {
        const last = play(keys.map((key) => `tool:${key}:result of ${key}`))
        expect(last).toContain('terminate')
      }),
      { numRuns: 25 },
    )
  })

  test('calls whose results keep changing are never stopped, however often they are made', () => {
    const work = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 300 })
    fc.assert(
      fc.property(work, (keys) => {
        const verdicts = play(keys.map((key, index) => `tool:${key}:result ${index}`))
        expect(verdicts.filter((verdict) => verdict !== 'run')).toEqual([])
      }),
      { numRuns: 25 },
    )
  })

  test('what is remembered is bounded over all tools and parameters', () => {
    let window: readonly CallRecord[] = []
    for (let call = 0; call < 40 * loopPeriodMax; call += 1) {
      const made = { tool: 'a', paramsHash: String(call % (2 * loopPeriodMax)), resultHash: String(call) }
      window = stepLoop(window, { kind: 'ended', call: made }).calls
    }
    expect(new Set(window.map(({ paramsHash }) => paramsHash)).size).toBe(loopPeriodMax)
    expect(window.length).toBeLessThanOrEqual(15 * loopPeriodMax)
  })
})

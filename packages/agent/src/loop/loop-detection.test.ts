import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { stepLoop } from './loop-detection.ts'
import type { CallRecord } from './loop-detection.ts'

/** Plays calls as the loop does; each letter is one call, `tool:params:result`. Answers what became of each. */
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
  verifies(
    'limits:tool-loop',
    'states:tool-loop:same-triple',
    'states:tool-loop:warned',
    'states:tool-loop:blocked',
    'states:tool-loop:terminated',
    'states:tool-loop:memory-search-exempt',
  )

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
    ['another tool is another call', ['a:1:x', 'b:1:x', 'a:1:x', 'b:1:x'], times(4, 'run')],
  ])('%s', (_name, calls, verdicts) => {
    expect(play(calls)).toEqual(verdicts)
  })

  test('memory_search is exempt from all three', () => {
    verifies('resources:tool:memory-search-exempt')
    expect(play(times(12, 'memory_search:1:x'))).toEqual(times(12, 'run'))
  })

  test('calls older than fifteen are forgotten', () => {
    const others = Array.from({ length: 13 }, (_, index) => `b:${index}:x`)
    expect(play([...times(2, 'a:1:x'), ...others, 'a:1:x']).at(-1)).toBe('warn')
    expect(play([...times(2, 'a:1:x'), ...others, 'b:99:x', 'a:1:x']).at(-1)).toBe('run')
  })

  test('calls between do not hide a circle', () => {
    const circle = Array.from({ length: 5 }, () => ['a:1:x', 'b:1:y']).flat()
    expect(play(circle).slice(8)).toEqual(['block', 'block'])
  })
})

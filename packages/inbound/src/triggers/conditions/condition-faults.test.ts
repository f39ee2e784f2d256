import { Problem } from '@flotilla/protocol/problem'
import { RE2JS } from 're2js'
import { describe, expect, test } from 'vitest'
import { conditionTokens } from './condition-tokens.ts'
import { conditionHolds, matchedTextMaxChars } from './condition.ts'
import {
  conditionDepthMax,
  conditionMaxChars,
  parseCondition,
  patternMaxChars,
  patternMaxSteps,
} from './parse-condition.ts'

function faultOf(text: string): string {
  try {
    parseCondition(text)
  } catch (error) {
    if (error instanceof Problem) return error.detail
    throw error
  }
  throw new Error(`understood: ${text}`)
}

describe('errors in a condition', () => {
  test.each([
    ['action', 7, 'expected one of == != < <= > >= contains matches here, but found the end'],
    ['action =! "a"', 8, '"=" is not allowed in a condition'],
    [
      'action == opened',
      11,
      'expected a text in quotes, a number, true, false or null here, but found "opened"',
    ],
    ['action ==', 10, 'expected a text in quotes, a number, true, false or null here, but found the end'],
    ['action == ]', 11, 'expected a text in quotes, a number, true, false or null here, but found "]"'],
    ['action matches 3', 16, 'expected a pattern in quotes here, but found "3"'],
    ['action matches', 15, 'expected a pattern in quotes here, but found the end'],
    ['action matches "("', 16, 'the pattern is not a supported regular expression'],
    ['a matches "a{1000}"', 11, 'the pattern has too many repetitions'],
    ['(a == 1', 8, 'expected ")" here, but found the end'],
    ['a == 1)', 7, 'expected "and", "or" or the end here, but found ")"'],
    ['a == 1 b == 2', 8, 'expected "and", "or" or the end here, but found "b"'],
    ['a. == 1', 4, 'expected the name of a field here, but found "=="'],
    ['"a" == 1', 1, 'expected the name of a field here, but found "a"'],
    ['a[0 == 1', 5, 'expected "]" here, but found "=="'],
    ['a[b] == 1', 3, 'expected a list index, or a name in quotes here, but found "b"'],
    ['a[-1] == 1', 3, 'expected a list index, or a name in quotes here, but found "-1"'],
    ['a[1.5] == 1', 3, 'expected a list index, or a name in quotes here, but found "1.5"'],
    [
      'a < contains',
      5,
      'expected a text in quotes, a number, true, false or null here, but found "contains"',
    ],
    ['a . "b" == 1', 5, 'expected the name of a field here, but found "b"'],
  ])('%j is reported at character %i: %s', (text, place, words) => {
    expect(faultOf(text)).toContain(`condition, character ${place}: ${words}`)
    expect(faultOf(text)).toContain('Such as: action == "opened"')
  })
})

describe('the limits of a condition', () => {
  const ofLength = (length: number) => `a == "${'x'.repeat(length - 7)}"`

  test('a condition at its length, bracket and pattern limits is accepted', () => {
    expect(ofLength(conditionMaxChars)).toHaveLength(500)
    expect(() => parseCondition(ofLength(conditionMaxChars))).not.toThrow()
    expect(faultOf(ofLength(conditionMaxChars + 1))).toContain('character 501: a condition has 500')
    const brackets = (depth: number) => `${'('.repeat(depth)}a == 1${')'.repeat(depth)}`
    expect(() => parseCondition(brackets(conditionDepthMax))).not.toThrow()
    expect(faultOf(brackets(conditionDepthMax + 1))).toContain(`character ${conditionDepthMax + 2}:`)
    const nots = (depth: number) => `${'not '.repeat(depth)}a == 1`
    expect(() => parseCondition(nots(conditionDepthMax))).not.toThrow()
    expect(faultOf(nots(conditionDepthMax + 1))).toContain('20 deep')
    const pattern = (length: number) => `a matches "${'x'.repeat(length)}"`
    expect(() => parseCondition(pattern(patternMaxChars))).not.toThrow()
    expect(faultOf(pattern(patternMaxChars + 1))).toContain('character 11: a pattern has 200')
  })

  test('a pattern at its step limit is accepted', () => {
    const counts = Array.from({ length: patternMaxSteps + 1 }, (_, count) => count)
    const last = counts.findLast((count) => RE2JS.compile(`a{${count}}`).programSize() === patternMaxSteps)
    expect(() => parseCondition(`a matches "a{${last}}"`)).not.toThrow()
    expect(faultOf(`a matches "a{${Number(last) + 1}}"`)).toContain('has too many repetitions')
  })

  test('depth is reduced after a closing bracket, so that a long list is not deep', () => {
    const list = Array.from({ length: 30 }, () => '(a==1)').join(' or ')
    expect(() => parseCondition(list)).not.toThrow()
  })

  test('a pattern searches a text only up to the limit', () => {
    const far = parseCondition('t matches "x$"')
    expect(conditionHolds(far, { t: `${'a'.repeat(matchedTextMaxChars - 1)}x` })).toBe(true)
    expect(conditionHolds(far, { t: `${'a'.repeat(matchedTextMaxChars)}x` })).toBe(false)
  })
})

describe('the tokens of a condition', () => {
  test('tokens have positions for error messages', () => {
    expect(conditionTokens(' a1_-b  <=-1.5 "x"')).toEqual([
      { kind: 'name', text: 'a1_-b', at: 1 },
      { kind: 'sign', text: '<=', at: 8 },
      { kind: 'number', value: -1.5, at: 10 },
      { kind: 'text', text: 'x', at: 15 },
    ])
  })

  test.each([
    [String.raw`"a\"b"`, 'a"b'],
    [String.raw`'a\'b'`, "a'b"],
    [String.raw`"a\\b"`, String.raw`a\b`],
    [String.raw`"\d+"`, String.raw`\d+`],
    [`"it's"`, "it's"],
    [`'say "x"'`, 'say "x"'],
    ['""', ''],
  ])('%s is the text %s', (quoted, text) => {
    expect(conditionTokens(quoted)).toEqual([{ kind: 'text', text, at: 0 }])
  })

  test('tokens end at an unclosed quote and at an invalid number', () => {
    expect(faultOf('a == "x')).toContain('character 6: "\\""')
    expect(faultOf('a == 1.')).toContain('character 7: expected "and", "or" or the end here, but found "."')
  })
})

describe('comparisons in a condition', () => {
  const holds = (text: string, payload: Parameters<typeof conditionHolds>[1]) =>
    conditionHolds(parseCondition(text), payload)

  test.each([
    ['n < 7', false],
    ['n <= 7', true],
    ['n > 7', false],
    ['n >= 7', true],
    ['n < 8', true],
    ['n > 6', true],
    ['n <= 6', false],
    ['n >= 8', false],
    ['w < "c"', true],
    ['w <= "b"', true],
    ['w > "a"', true],
    ['w >= "c"', false],
  ])('%s is %s, also for the equal value', (text, expected) => {
    expect(holds(text, { n: 7, w: 'b' })).toBe(expected)
  })

  test('numbers and numeric texts, and missing values, have no order', () => {
    for (const text of [
      'w < 9',
      'w >= 1',
      'n < "9"',
      'missing < 9',
      'missing >= 0',
      'flag > 0',
      'list < 9',
    ]) {
      expect(holds(text, { w: '8', n: 8, flag: true, list: [] }), text).toBe(false)
    }
  })

  test('a pattern matches only texts', () => {
    for (const value of [7, null, true, ['7'], { a: '7' }])
      expect(holds('a matches "7"', { a: value })).toBe(false)
    expect(holds('missing matches ""', {})).toBe(false)
  })

  test('`or` holds if one side does, and not if neither does', () => {
    expect(holds('a == 1 or a == 2', { a: 3 })).toBe(false)
    expect(holds('a == 1 and b == 2', { a: 1, b: 3 })).toBe(false)
    expect(holds('a == 1 and b == 2', { a: 3, b: 2 })).toBe(false)
    expect(holds('a == 1 and b == 2', { a: 1, b: 2 })).toBe(true)
    expect(holds('a != 1', { a: 1 })).toBe(false)
    expect(holds('a contains "z"', { a: 'text' })).toBe(false)
  })

  test('fields of values that are not objects, and characters of texts, are missing', () => {
    for (const value of ['text', 7, true, null])
      expect(holds('a.b == null and a[0] == null', { a: value })).toBe(true)
    expect(holds('a.length == null', { a: 'text' })).toBe(true)
  })

  test('`contains` finds a substring of a text or an equal member of a list', () => {
    expect(holds('a contains 1', { a: 'a1' })).toBe(false)
    expect(holds('a contains "1"', { a: [1] })).toBe(false)
    expect(holds('a contains null', { a: [null] })).toBe(true)
    expect(holds('a contains "x"', { a: { x: 'x' } })).toBe(false)
  })

  test('`and` binds more tightly than `or`, and both are left-associative', () => {
    expect(holds('a == 1 or a == 2 and b == 9', { a: 1, b: 0 })).toBe(true)
    expect(holds('(a == 1 or a == 2) and b == 9', { a: 1, b: 0 })).toBe(false)
    expect(holds('a == 1 and a == 2 or b == 0', { a: 1, b: 0 })).toBe(true)
    expect(holds('not a == 1 and b == 0', { a: 2, b: 0 })).toBe(true)
    expect(holds('not a == 1 or b == 0', { a: 1, b: 0 })).toBe(true)
    expect(parseCondition('a == 1 or b == 2 or c == 3')).toMatchObject({
      kind: 'or',
      left: { kind: 'or' },
      right: { kind: 'compare' },
    })
  })
})

import { Problem } from '@flotilla/protocol/problem'
import type { JsonValue } from '@flotilla/protocol/json-value'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Condition } from './condition.ts'
import { conditionHolds, matchedTextMaxChars } from './condition.ts'
import { conditionMaxChars, parseCondition } from './parse-condition.ts'
import { verifies } from '../../../../../tests/verifies.ts'

const payload = {
  action: 'opened',
  number: 7,
  draft: false,
  nothing: null,
  labels: ['bug', 'urgent', 3],
  issue: { title: 'Fix: the {build}', 'odd name': 'yes', user: [{ login: 'ada' }] },
} satisfies JsonValue

const holds = (text: string, value: JsonValue = payload): boolean =>
  conditionHolds(parseCondition(text), value)

function faultOf(text: string): string {
  try {
    parseCondition(text)
  } catch (error) {
    if (error instanceof Problem && error.code === 'bad-request') return error.detail
    throw error
  }
  throw new Error(`understood: ${text}`)
}

describe('a condition', () => {
  test.each([
    ['action == "opened"', true],
    ["action == 'closed'", false],
    ['action != "closed"', true],
    ['number >= 7 and number < 8', true],
    ['number > 7 or draft == false', true],
    ['not draft == true', true],
    ['not (action == "opened" or number == 1)', false],
    ['nothing == null and missing == null', true],
    ['labels contains "bug"', true],
    ['labels contains 3', true],
    ['labels contains "bu"', false],
    ['labels[1] == "urgent"', true],
    ['labels[9] == null', true],
    ['issue.title contains "{build}"', true],
    ['issue["odd name"] == "yes"', true],
    ['["action"] == "opened"', true],
    ['issue.user[0].login matches "^a.a$"', true],
    ['issue.title matches "^fix"', false],
    ['issue.title matches "(?i)^fix"', true],
    ['issue.title matches "\\\\bbuild\\\\b"', true],
    ['action == "opened" or action == "closed" and number == 0', true],
    ['and == "x" or action == "opened"', true],
  ])('%s is %s', (text, expected) => {
    expect(holds(text)).toBe(expected)
  })

  test('values of different types are unequal and have no order', () => {
    for (const text of [
      'number == "7"',
      'number < "8"',
      'action > 1',
      'draft == "false"',
      'draft < true',
      'issue == "x"',
    ])
      expect(holds(text)).toBe(false)
  })

  test('a condition reads own members only', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty'])
      expect(holds(`${name} == null and issue.${name} == null and action.${name} == null`)).toBe(true)
    const hostile: JsonValue = JSON.parse('{"__proto__": {"admin": true}}')
    expect(holds('admin == true', hostile)).toBe(false)
    expect(holds('__proto__.admin == true', hostile)).toBe(true)
  })
})

describe('invalid conditions', () => {
  const programs = [
    'process.exit(1)',
    'action == process.env.HOME',
    'constructor.constructor("return process")() == 1',
    'action == `opened`',
    'action = "closed"',
    'action === "opened"',
    'number + 1 == 8',
    'number == 2 * 3',
    'labels.map(x => x) contains 1',
    'labels.includes("bug")',
    '(() => 1)() == 1',
    'new Date() == 1',
    'eval("1") == 1',
    '__import__("os").system("id") == 0',
    'action == "a"; process.exit(1)',
    'action == "a" || true == true',
    'action == "a" && number == 7',
    '!draft == true',
    'action == "${number}" + ""',
    '{{action}} == "x"',
    '{% if action %}',
    'action in ["opened"]',
    'action ? true : false',
    '"opened" == action',
    'action == opened',
    'action',
    'true',
    '',
    '()',
    'not',
    'action ==',
    'action == "unclosed',
    'labels[-1] == "bug"',
    'labels[0 == "bug"',
    'labels[number] == "bug"',
    'labels[1.5] == "bug"',
    'action matches action',
    'action matches 3',
    'action matches "("',
    'action matches "(a)\\\\1"',
    'action matches "(?=a)b"',
    'action matches "(?<!a)b"',
    'action matches "(((a{1,30}){1,30}){1,30})"',
    'action == "a" action == "b"',
    'action == constructor',
    'action == __proto__',
    'action == "a" # comment',
    'action == "a" /* comment */',
    'action\u200b == "a"',
    '$action == "a"',
    '@action == "a"',
    'require("fs") == 1',
    'this.action == "a"()',
    'number == 0x10',
    'number == 1e9',
    'number == NaN',
    'number == -Infinity',
    'number == undefined',
    'action == null.x',
  ]

  test.each(programs)('%s is rejected with the position and an example', (text) => {
    verifies('limits:conditions:safe-parser')
    expect(faultOf(text)).toMatch(/^condition, character \d+: .*Such as: /s)
  })

  test('a condition above a limit of length, depth or steps is rejected', () => {
    expect(faultOf(`action == "${'a'.repeat(conditionMaxChars)}"`)).toContain('500 characters')
    expect(faultOf(`${'('.repeat(30)}a == 1${')'.repeat(30)}`)).toContain('20 deep')
    expect(faultOf(`${'not '.repeat(30)}a == 1`)).toContain('20 deep')
    expect(faultOf(`a matches "${'x'.repeat(201)}"`)).toContain('200 characters')
    expect(faultOf('a matches "a{1000}"')).toContain('has too many repetitions')
  })
})

describe('arbitrary conditions', () => {
  const word = fc.constantFrom(
    ...'action number . [ ] ( ) 0 "a" \' \\ == < and or not contains matches null "(a+)+$" __proto__ { $'.split(
      ' ',
    ),
  )
  const text = fc.oneof(
    fc.string({ maxLength: 80, unit: 'binary' }),
    fc.array(word, { maxLength: 30 }).map((words) => words.join(' ')),
  )

  test('any text is parsed or rejected as a bad request, and decides equally each time without changing the payload', () => {
    fc.assert(
      fc.property(text, fc.jsonValue(), (when, any) => {
        const value = any as JsonValue // jsonValue() generates only JSON
        const before = JSON.stringify(value)
        let condition: Condition
        try {
          condition = parseCondition(when)
        } catch (error) {
          expect(error).toMatchObject({ code: 'bad-request' })
          return
        }
        expect(conditionHolds(condition, value)).toBe(conditionHolds(condition, value))
        expect(JSON.stringify(value)).toBe(before)
      }),
      { numRuns: 2000 },
    )
  })

  test('a pattern matches in time linear in the text', () => {
    const evil = parseCondition('t matches "(a*)*(a|a)*(a{1,20}){1,9}c$"')
    expect(conditionHolds(evil, { t: 'a'.repeat(1_000_000) })).toBe(false)
    const far = parseCondition('t matches "x"')
    expect(conditionHolds(far, { t: `${'a'.repeat(matchedTextMaxChars)}x` })).toBe(false)
  })
})

import { RE2JS, RE2JSException } from 're2js'
import type { Comparison, Condition, FieldPath, Literal } from './condition.ts'
import { conditionFault, conditionTokens } from './condition-tokens.ts'
import type { ConditionToken } from './condition-tokens.ts'

/** The maximum length of a condition, in characters. */
export const conditionMaxChars = 500
/** The maximum length of a pattern for `matches`, in characters. */
export const patternMaxChars = 200
/** The maximum steps of a compiled pattern per character of text. A counted repetition (`{20}`) multiplies steps. */
export const patternMaxSteps = 500
/** The maximum nesting of brackets and `not`. */
export const conditionDepthMax = 20

const comparisons: readonly string[] = ['==', '!=', '<', '<=', '>', '>='] satisfies Comparison[]

/**
 * Parses a `when`. Fields of the payload (`action`, `issue.labels[0].name`, `["odd name"]`) are compared with
 * literals (`"text"`, `'text'`, numbers, `true`, `false`, `null`) by `== != < <= > >= contains matches`. `and`, `or`,
 * `not` and brackets combine comparisons. There are no calls, arithmetic or variables. Throws the Problem
 * `bad-request` with the position and an example. Pure.
 */
export function parseCondition(text: string): Condition {
  if (text.length > conditionMaxChars)
    throw conditionFault(conditionMaxChars, `a condition has ${conditionMaxChars} characters at most`)
  const tokens = conditionTokens(text)
  let next = 0

  const peek = (): ConditionToken | undefined => tokens[next]
  const place = (): number => peek()?.at ?? text.length
  const fault = (expected: string): Error =>
    conditionFault(place(), `expected ${expected} here, but found ${shown(peek())}`)

  function takes(kind: 'sign' | 'name', word: string): boolean {
    const found = peek()
    if (found?.kind !== kind || found.text !== word) return false
    next += 1
    return true
  }

  function anyOf(depth: number): Condition {
    let left = allOf(depth)
    while (takes('name', 'or')) left = { kind: 'or', left, right: allOf(depth) }
    return left
  }

  function allOf(depth: number): Condition {
    let left = one(depth)
    while (takes('name', 'and')) left = { kind: 'and', left, right: one(depth) }
    return left
  }

  function one(depth: number): Condition {
    if (depth > conditionDepthMax)
      throw conditionFault(place(), `brackets and "not" go ${conditionDepthMax} deep at most`)
    if (takes('name', 'not')) return { kind: 'not', inner: one(depth + 1) }
    if (!takes('sign', '(')) return comparison()
    const inner = anyOf(depth + 1)
    if (!takes('sign', ')')) throw fault('")"')
    return inner
  }

  function comparison(): Condition {
    const field = fieldPath()
    const by = peek()
    if (takes('name', 'contains')) return { kind: 'contains', field, literal: literal() }
    if (takes('name', 'matches')) return { kind: 'matches', field, pattern: pattern() }
    if (by?.kind !== 'sign' || !isComparison(by.text)) {
      throw fault('one of == != < <= > >= contains matches')
    }
    next += 1
    return { kind: 'compare', field, by: by.text, literal: literal() }
  }

  function fieldPath(): FieldPath {
    const path: (string | number)[] = []
    for (;;) {
      if (takes('sign', '[')) {
        path.push(placeInBrackets())
        if (!takes('sign', ']')) throw fault('"]"')
      } else if (path.length === 0 || takes('sign', '.')) {
        const name = peek()
        if (name?.kind !== 'name') throw fault('the name of a field')
        next += 1
        path.push(name.text)
      } else {
        return path
      }
    }
  }

  function placeInBrackets(): string | number {
    const found = peek()
    next += 1
    if (found?.kind === 'text') return found.text
    if (found?.kind === 'number' && Number.isInteger(found.value) && found.value >= 0) return found.value
    next -= 1
    throw fault('a list index, or a name in quotes')
  }

  function literal(): Literal {
    const found = peek()
    next += 1
    if (found?.kind === 'text') return found.text
    if (found?.kind === 'number') return found.value
    const named = found?.kind === 'name' ? literalNames.get(found.text) : undefined
    if (named !== undefined) return named
    next -= 1
    throw fault('a text in quotes, a number, true, false or null')
  }

  function pattern(): RE2JS {
    const at = place()
    const found = peek()
    if (found?.kind !== 'text') throw fault('a pattern in quotes')
    next += 1
    if (found.text.length > patternMaxChars)
      throw conditionFault(at, `a pattern has ${patternMaxChars} characters at most`)
    const compiled = compile(found.text, at)
    if (compiled.programSize() > patternMaxSteps)
      throw conditionFault(at, 'the pattern has too many repetitions; make the counts in {} smaller')
    return compiled
  }

  const whole = anyOf(0)
  if (peek()) throw fault('"and", "or" or the end')
  return whole
}

function compile(pattern: string, at: number): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    throw conditionFault(at, `the pattern is not a supported regular expression (${error.message})`)
  }
}

const literalNames: ReadonlyMap<string, Literal> = new Map<string, Literal>([
  ['true', true],
  ['false', false],
  ['null', null],
])

function isComparison(sign: string): sign is Comparison {
  return comparisons.includes(sign)
}

function shown(token: ConditionToken | undefined): string {
  if (!token) return 'the end'
  return JSON.stringify(token.kind === 'number' ? String(token.value) : token.text)
}

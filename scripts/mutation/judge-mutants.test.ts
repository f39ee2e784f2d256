import { describe, expect, test } from 'vitest'
import type { Equivalent } from './equivalents/equivalent.ts'
import { ignoredBecause } from './ignore-sentences.ts'
import { judgeMutants, scoreTable } from './judge-mutants.ts'
import type { Mutant } from './judge-mutants.ts'

const file = 'src/due.ts'
const source = 'export function due(now: number, at: number) {\n  return now >= at\n}\n'

function mutant(status: string, replacement = 'now > at'): Mutant {
  return {
    fileName: file,
    location: { start: { line: 2, column: 10 }, end: { line: 2, column: 19 } },
    mutatorName: 'EqualityOperator',
    replacement,
    status,
  }
}

function judge(mutants: readonly Mutant[], equivalents: readonly Equivalent[] = []) {
  return judgeMutants({ group: 'dues', files: [file], mutants, sourceOf: () => source }, equivalents)
}

const listed: Equivalent = {
  file,
  line: 'return now >= at',
  becomes: 'return now > at',
  reason: 'nothing is due at the very moment',
}

describe('the score of a group', () => {
  test('the score of a group counts what no test runs against it, as what survived, and leaves broken and ignored mutants out', () => {
    const statuses = ['Killed', 'Killed', 'Timeout', 'Survived', 'NoCoverage', 'RuntimeError', 'Ignored']
    expect(judge(statuses.map((status) => mutant(status))).score).toEqual({
      group: 'dues',
      mutants: 5,
      killed: 2,
      timedOut: 1,
      survived: 1,
      uncovered: 1,
      equivalent: 0,
      score: 60,
    })
  })

  test('the score of a group is nothing where there was nothing to kill, so that a group without mutants does not pass', () => {
    expect(judge([]).score.score).toBe(0)
  })

  test('the score of a group does not count a survivor that is listed as equivalent, and only that very change', () => {
    const { score, survivors } = judge(
      [mutant('Killed'), mutant('Survived'), mutant('Survived', 'true')],
      [listed],
    )
    expect(score).toMatchObject({ mutants: 3, equivalent: 1, survived: 1, score: 50 })
    expect(survivors).toEqual([
      {
        file,
        lineNumber: 2,
        line: 'return now >= at',
        becomes: 'return true',
        mutator: 'EqualityOperator',
        uncovered: false,
      },
    ])
  })

  test('the score of a group names an entry of the list that a test has killed since, or that the source no longer holds', () => {
    expect(judge([mutant('Killed')], [listed]).stale).toEqual([listed])
    expect(judge([mutant('Survived')], [listed]).stale).toEqual([])
    expect(judge([mutant('Killed')], [{ ...listed, file: 'src/of-another-group.ts' }]).stale).toEqual([])
  })

  test('the score of a group shows a change over several lines as the line that it leaves', () => {
    const whole: Mutant = {
      ...mutant('Survived', '{}'),
      location: { start: { line: 1, column: 46 }, end: { line: 3, column: 2 } },
    }
    expect(judge([whole]).survivors[0]?.becomes).toBe('export function due(now: number, at: number) {}')
  })
})

describe('the table', () => {
  test('the table has one line for each group, below its head', () => {
    expect(scoreTable([judge([mutant('Killed'), mutant('Survived')]).score]).split('\n')).toEqual([
      'group  mutants  killed  survived  timed out  no coverage  equivalent   score',
      'dues         2       1         1          0            0           0  50.0 %',
    ])
  })
})

describe('a sentence for readers', () => {
  const literal = (value: string) => ignoredBecause({ node: { type: 'StringLiteral', value } })
  const template = (...raws: string[]) =>
    ignoredBecause({
      node: { type: 'TemplateLiteral', quasis: raws.map((raw) => ({ value: { raw } })) },
    })

  test('a sentence for readers is left alone, with and without values in it', () => {
    expect(literal('only the owner can do this')).toContain('decides nothing')
    expect(template('', ' is not set')).toContain('decides nothing')
  })

  test('a sentence for readers is not what the code decides by: names, signs and single words', () => {
    for (const word of ['can_message', 'path-refused', '*', '', '== !=', ' '])
      expect(literal(word)).toBe(undefined)
    expect(template('', '/')).toBe(undefined)
    expect(template('', ' ', '')).toBe(undefined)
    // An expression in the middle of a sentence has mutants of its own.
    const quasis = [{ value: { raw: 'it has been ' } }, { value: { raw: ' already' } }]
    const expressions = [{ type: 'ConditionalExpression' }]
    expect(ignoredBecause({ node: { type: 'TemplateLiteral', quasis, expressions } })).toBe(undefined)
    expect(ignoredBecause({ node: { type: 'BooleanLiteral', value: true } })).toBe(undefined)
  })
})

import { describe, expect, test } from 'vitest'
import { type CoverageFacts, coverageReport, type LedgerClause } from './coverage-report.ts'

const decision = 'docs/decisions/2026-11-21-a-choice.md'

function aClause(changes: Partial<LedgerClause> = {}): LedgerClause {
  return { id: 'limits:one', section: 'limits', text: 'One is at most 1.', state: 'planned', ...changes }
}

function offendersOf(changes: Partial<CoverageFacts>): readonly string[] {
  const facts = {
    clauses: [aClause()],
    citations: [],
    unreadable: [],
    decisionFiles: new Set<string>(),
    documentSections: new Set<string>(),
    ...changes,
  }
  return coverageReport(facts).offenders
}

describe('coverageReport', () => {
  test('a ledger that agrees with its tests has no offenders', () => {
    const clauses = [
      aClause(),
      aClause({ id: 'limits:two', state: 'covered' }),
      aClause({ id: 'limits:three', state: 'outside', why: 'someone else does it' }),
      aClause({ id: 'limits:four', state: 'deviates', decision }),
      aClause({
        id: 'limits:five',
        text: 'Five is not shown.',
        decided: 'docs/reference/rate-limits.md#calls',
      }),
    ]
    const citations = [{ id: 'limits:two', at: 'x.test.ts:1' }]
    const documentSections = new Set(['docs/reference/rate-limits.md#calls'])
    expect(offendersOf({ clauses, citations, decisionFiles: new Set([decision]), documentSections })).toEqual(
      [],
    )
  })

  test('an unknown id that a test cites is named with its place', () => {
    expect(offendersOf({ citations: [{ id: 'limits:nine', at: 'x.test.ts:7' }] })).toEqual([
      'x.test.ts:7: limits:nine is cited, but no clause has this id',
    ])
  })

  test('a call with unreadable arguments is named', () => {
    expect(offendersOf({ unreadable: ['x.test.ts:8'] })).toEqual([
      'x.test.ts:8: what a test cites is given as plain literals only, since it is read from the source',
    ])
  })

  test('a covered clause that no test cites is named', () => {
    expect(offendersOf({ clauses: [aClause({ state: 'covered' })] })).toEqual([
      'limits:one: covered, but no test cites it',
    ])
  })

  test('a planned clause that a test cites is named, with the way to mark it', () => {
    expect(offendersOf({ citations: [{ id: 'limits:one', at: 'x.test.ts:3' }] })).toEqual([
      'limits:one: planned, but x.test.ts:3 cites it; mark it covered (npm run spec -- --mark)',
    ])
  })

  test.each([{ id: 'limits:one', section: 'limits', text: 'One.' }, aClause({ state: 'done' })])(
    'a clause in none of the states is named: %o',
    (clause) => {
      expect(offendersOf({ clauses: [clause] })).toEqual([
        'limits:one: in none of the states covered, planned, outside, deviates',
      ])
    },
  )

  test('a clause in two states is named', () => {
    const clauses = [
      aClause({ why: 'someone else does it' }),
      aClause({ id: 'limits:two', state: 'outside', why: 'not ours', decision }),
    ]
    expect(offendersOf({ clauses, decisionFiles: new Set([decision]) })).toEqual([
      'limits:one: in two states, planned by its state and outside by its why',
      'limits:two: in two states, outside by its state and deviates by its decision',
    ])
  })

  test('an outside clause without a reason is named', () => {
    expect(offendersOf({ clauses: [aClause({ state: 'outside', why: ' ' })] })).toEqual([
      'limits:one: outside, but no why says whose it is',
    ])
  })

  test('an id that two clauses have is named once', () => {
    expect(offendersOf({ clauses: [aClause(), aClause({ text: 'One again.' })] })).toEqual([
      'limits:one: 2 clauses have this id; each needs one of its own',
    ])
  })

  test('a deviation without a decision, or with one that does not exist, is named', () => {
    const clauses = [
      aClause({ state: 'deviates' }),
      aClause({ id: 'limits:two', state: 'deviates', decision }),
    ]
    expect(offendersOf({ clauses })).toEqual([
      'limits:one: deviates, but names no decision',
      `limits:two: the decision ${decision} does not exist`,
    ])
  })

  test.each([
    'docs/decisions/a-choice.md',
    'docs/decisions/2026-13-01-a-choice.md',
    'docs/2026-11-21-a-choice.md',
    'docs/decisions/2026-11-21.md',
  ])('a decision file %s is refused even when it exists, since its name has no date and title', (file) => {
    const clauses = [aClause({ state: 'deviates', decision: file })]
    expect(offendersOf({ clauses, decisionFiles: new Set([file]) })).toEqual([
      `limits:one: ${file} is not docs/decisions/YYYY-MM-DD-title.md`,
    ])
  })

  test('a clause that is not shown and not decided is named', () => {
    expect(offendersOf({ clauses: [aClause({ text: 'The value is not shown.' })] })).toEqual([
      'limits:one: the specification does not show this, and no decided says where it is chosen',
    ])
  })

  test('a decided that points nowhere is named', () => {
    const clauses = [
      aClause({ decided: 'docs/reference/rate-limits.md' }),
      aClause({ id: 'limits:two', decided: 'docs/reference/rate-limits.md#none' }),
    ]
    expect(
      offendersOf({ clauses, documentSections: new Set(['docs/reference/rate-limits.md#calls']) }),
    ).toEqual([
      'limits:one: docs/reference/rate-limits.md is not a section of a document',
      'limits:two: docs/reference/rate-limits.md#none is not a section of a document',
    ])
  })

  test('states are counted by section and in total', () => {
    const clauses = [
      aClause({ state: 'covered' }),
      aClause({ id: 'limits:two' }),
      aClause({ id: 'states:one', section: 'states', state: 'outside', why: 'not ours' }),
    ]
    const facts = {
      clauses,
      citations: [],
      unreadable: [],
      decisionFiles: new Set<string>(),
      documentSections: new Set<string>(),
    }
    const { rows, total } = coverageReport(facts)
    expect(rows.map((row) => row.section)).toHaveLength(9)
    expect(rows.find((row) => row.section === 'limits')).toEqual({
      section: 'limits',
      covered: 1,
      planned: 1,
      outside: 0,
      deviates: 0,
      total: 2,
    })
    expect(total).toEqual({ section: 'total', covered: 1, planned: 1, outside: 1, deviates: 0, total: 3 })
  })
})

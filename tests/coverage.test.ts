import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { coverageReport } from './coverage-report.ts'
import { readCoverageFacts } from './coverage-sources.ts'
import { requirements } from './requirements.ts'
import { verifies } from './verifies.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

describe('the specification ledger', () => {
  test('agrees with what the tests cite and the documents decide', () => {
    expect(coverageReport(readCoverageFacts(root, requirements)).offenders).toEqual([])
  })

  test('stands in the order of the specification', () => {
    const lines = requirements.map((clause) => clause.line)
    expect(lines).toEqual(lines.toSorted((left, right) => left - right))
  })

  test('has one sentence in each clause, and no clause twice in a section', () => {
    const texts = requirements.map((clause) => `${clause.section}: ${clause.text}`)
    expect(texts.filter((text) => !text.endsWith('.'))).toEqual([])
    expect(texts.filter((text, index) => texts.indexOf(text) !== index)).toEqual([])
  })
})

describe('verifies', () => {
  test('takes ids of clauses', () => {
    const [first] = requirements
    expect(first).toBeDefined()
    // oxlint-disable-next-line typescript/no-non-null-assertion -- the line above shows it is there
    expect(() => verifies.call(undefined, first!.id)).not.toThrow()
  })

  test('throws on an id that no clause has', () => {
    // @ts-expect-error: the id of no clause does not compile either
    expect(() => verifies.call(undefined, 'limits:no-such-limit')).toThrow('no clause limits:no-such-limit')
  })
})

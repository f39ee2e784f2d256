import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { coverageReport } from './coverage-report.ts'
import { readCoverageFacts } from './coverage-sources.ts'
import { requirements } from './requirements.ts'
import { citedBy, heedsLesson, verifies } from './verifies.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

describe('the specification ledger', () => {
  test('the specification ledger agrees with what the tests cite and the documents decide', () => {
    expect(coverageReport(readCoverageFacts(root, requirements)).offenders).toEqual([])
  })

  test('the specification ledger has the order of the specification', () => {
    const lines = requirements.map((clause) => clause.line)
    expect(lines).toEqual(lines.toSorted((left, right) => left - right))
  })

  test('the specification ledger has one sentence in each clause, and no clause twice in a section', () => {
    const texts = requirements.map((clause) => `${clause.section}: ${clause.text}`)
    expect(texts.filter((text) => !text.endsWith('.'))).toEqual([])
    expect(texts.filter((text, index) => texts.indexOf(text) !== index)).toEqual([])
  })
})

describe('verifies', () => {
  test('verifies is noted at the test that runs', ({ task }) => {
    const [first, second] = requirements
    expect(first).toBeDefined()
    expect(second).toBeDefined()
    // Called in another form than tests use, so that this test does not count as a proof.
    for (const clause of [first, second]) if (clause !== undefined) verifies.call(undefined, clause.id)
    expect(citedBy(task.meta)).toEqual([first?.id, second?.id])
    Reflect.deleteProperty(task.meta, 'verifies')
  })

  test.concurrent('verifies is refused in one of several tests that run at once', () => {
    const [first] = requirements
    expect(() => first !== undefined && verifies.call(undefined, first.id)).toThrow('run at once')
  })

  test('verifies has lessons beside it, noted the same way by their numbers', ({ task }) => {
    heedsLesson.call(undefined, 1, 134)
    expect(citedBy(task.meta)).toEqual(['lesson:1', 'lesson:134'])
    Reflect.deleteProperty(task.meta, 'verifies')
    // @ts-expect-error: the number of no lesson does not compile either
    expect(() => heedsLesson.call(undefined, 135)).toThrow('no lesson 135')
  })

  test('verifies throws on an id that no clause has', () => {
    // @ts-expect-error: the id of no clause does not compile either
    expect(() => verifies.call(undefined, 'limits:no-such-limit')).toThrow('no clause limits:no-such-limit')
  })
})

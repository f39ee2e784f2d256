import { describe, expect, it } from 'vitest'
import { afterSecondTry, filesToTryAgain } from './second-try.ts'
import type { ProjectRecord, RecordedTest } from './test-record.ts'

const test = (file: string, name: string, state: RecordedTest['state']): RecordedTest => ({
  file,
  name,
  project: 'flows',
  state,
  durationMs: 1,
  verifies: [],
  ...(state === 'failed' ? { failure: 'expected 5 to be 6' } : {}),
})
const record = (tests: RecordedTest[], broken: string[] = []): ProjectRecord => ({
  startedAt: '2026-11-23T00:00:00.000Z',
  durationMs: 1,
  broken,
  tests,
})

describe('a second try', () => {
  it('a second try is for files in which something failed or that could not be collected', () => {
    const first = record(
      [
        test('a.test.ts', 'one', 'failed'),
        test('a.test.ts', 'two', 'failed'),
        test('b.test.ts', 'x', 'passed'),
      ],
      ['c.test.ts: group: a hook took too long', 'an error that no test owns: boom'],
    )
    expect(filesToTryAgain(first)).toEqual(['a.test.ts', 'c.test.ts'])
  })

  it('a second try names what passed only then, with what it met before', () => {
    const first = record([test('a.test.ts', 'one', 'failed'), test('a.test.ts', 'two', 'passed')])
    const second = record([test('a.test.ts', 'one', 'passed'), test('a.test.ts', 'two', 'passed')])
    const { record: both, unsteady } = afterSecondTry(first, second, ['a.test.ts'])
    expect(both.tests.map(({ state }) => state)).toEqual(['passed', 'passed'])
    expect(unsteady).toEqual(['a.test.ts  one\n  expected 5 to be 6'])
  })

  it('a second try leaves failed what fails again, what fails then alone, and what did not run again', () => {
    const first = record([
      test('a.test.ts', 'again', 'failed'),
      test('a.test.ts', 'then', 'passed'),
      test('a.test.ts', 'gone', 'failed'),
      test('b.test.ts', 'again', 'failed'),
    ])
    const second = record([test('a.test.ts', 'again', 'failed'), test('a.test.ts', 'then', 'failed')])
    const { record: both, unsteady } = afterSecondTry(first, second, ['a.test.ts'])
    expect(both.tests.map(({ state }) => state)).toEqual(['failed', 'failed', 'failed', 'failed'])
    expect(unsteady).toEqual([])
  })

  it('a second try takes the tests of a file that could not be collected before, and keeps what no file owns', () => {
    const first = record([], ['c.test.ts: a hook took too long', 'an error that no test owns: boom'])
    const second = record([test('c.test.ts', 'one', 'passed')])
    const { record: both, unsteady } = afterSecondTry(first, second, ['c.test.ts'])
    expect(unsteady).toEqual(['c.test.ts: a hook took too long'])
    expect(both.tests.map(({ name }) => name)).toEqual(['one'])
    expect(both.broken).toEqual(['an error that no test owns: boom'])
  })
})

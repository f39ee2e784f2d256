import { TestRunner } from 'vitest'
import { type LessonNumber, lessonId, lessons } from './requirements/lessons.ts'
import { type ClauseId, requirements } from './requirements.ts'

const knownClauses: ReadonlySet<string> = new Set(requirements.map((clause) => clause.id))
const knownLessons: ReadonlySet<number> = new Set(lessons.map((lesson) => lesson.number))
const metaName = 'verifies'

/**
 * Says which clauses of the specification the surrounding test, or all tests of the surrounding `describe`, prove.
 * The citation is recorded with the running test, so that only a test that ran and passed proves a clause. Pass
 * literals, because citations are also read from the source. Throws for an unknown clause id, and outside of a test
 * or `describe`.
 */
export function verifies(...ids: readonly [ClauseId, ...ClauseId[]]): void {
  for (const id of ids) {
    if (!knownClauses.has(id)) throw new Error(`tests/requirements.ts has no clause ${id}`)
  }
  note('verifies', ids)
}

/**
 * Says which lessons of `tests/requirements/lessons.ts` the surrounding test, or all tests of the surrounding
 * `describe`, keep. Recorded and checked as with `verifies`.
 */
export function heedsLesson(...numbers: readonly [LessonNumber, ...LessonNumber[]]): void {
  for (const number of numbers) {
    if (!knownLessons.has(number)) throw new Error(`tests/requirements/lessons.ts has no lesson ${number}`)
  }
  note('heedsLesson', numbers.map(lessonId))
}

function note(caller: string, ids: readonly string[]): void {
  const holder = TestRunner.getCurrentTest() ?? TestRunner.getCurrentSuite().suite
  if (holder === undefined) throw new Error(`${caller} belongs into a test or into the describe around tests`)
  if (holder.type === 'test' && holder.concurrent === true) {
    throw new Error(`of tests that run at once none can be told apart: let ${caller} stand in their describe`)
  }
  const meta: object = holder.meta
  Object.assign(meta, { [metaName]: [...citedBy(meta), ...ids] })
}

/** The clauses and lessons that a test or a group of tests bears, by its meta. */
export function citedBy(meta: object): readonly string[] {
  const ids: unknown = Reflect.get(meta, metaName)
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
}

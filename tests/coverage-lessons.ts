import type { Citation } from './coverage-report.ts'
import { type Lesson, lessonId } from './requirements/lessons.ts'

/** State of a lesson: `heeded` by tests, or one of the two reasons why no test heeds it. */
export type LessonState = 'heeded' | 'planned' | 'outside'

/** Derives the state from the lesson's reason alone; `lessonOffenders` checks whether tests cite it. */
export function stateOfLesson(lesson: Lesson): LessonState {
  if (lesson.planned !== undefined) return 'planned'
  return lesson.outside === undefined ? 'heeded' : 'outside'
}

/** The lessons that a run of the tests has to prove, in the form of clauses. */
export function lessonsToProve(
  lessons: readonly Lesson[],
): readonly { readonly id: string; readonly state: 'covered' }[] {
  return lessons
    .filter((lesson) => stateOfLesson(lesson) === 'heeded')
    .map((lesson) => ({ id: lessonId(lesson.number), state: 'covered' }))
}

/** Returns one sentence for each contradiction between the lessons and the citations of the tests. */
export function lessonOffenders(lessons: readonly Lesson[], heeded: readonly Citation[]): readonly string[] {
  const known = new Set(lessons.map((lesson) => lessonId(lesson.number)))
  return [
    ...lessons.flatMap(({ number }, index) =>
      number === index + 1 ? [] : [`lesson:${number}: stands at place ${index + 1}`],
    ),
    ...lessons.flatMap((lesson) => reasonOffenders(lesson, heeded)),
    ...heeded
      .filter(({ id }) => !known.has(id))
      .map(({ id, at }) => `${at}: ${id} is heeded, but no lesson has this number`),
  ]
}

function reasonOffenders(lesson: Lesson, heeded: readonly Citation[]): readonly string[] {
  const { number, planned, outside } = lesson
  const id = lessonId(number)
  if (planned !== undefined && outside !== undefined) {
    return [`${id}: either it comes with ${planned}, or nothing here could break it`]
  }
  const reason = planned ?? outside
  const citing = heeded.find((citation) => citation.id === id)
  if (reason === undefined)
    return citing === undefined ? [`${id}: no test heeds it, and no reason says why`] : []
  if (reason.trim() === '') return [`${id}: its reason is empty`]
  return citing === undefined ? [] : [`${id}: ${citing.at} heeds it, so its reason "${reason}" is untrue`]
}

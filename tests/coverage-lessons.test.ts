import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { lessonOffenders, lessonsToProve } from './coverage-lessons.ts'
import { readCitations } from './coverage-sources.ts'
import { type Lesson, lessons } from './requirements/lessons.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const heededAt = (...numbers: readonly number[]) =>
  numbers.map((number) => ({ id: `lesson:${number}`, at: `x.test.ts:${number}` }))

describe('the lessons', () => {
  test('the lessons are each heeded by a test or say why none heeds them', () => {
    expect(lessonOffenders(lessons, readCitations(root).heeded)).toEqual([])
  })

  test('the lessons are 134, and each title is one sentence that no other has', () => {
    const titles: readonly string[] = lessons.map((lesson) => lesson.title)
    expect(titles.length).toBe(134)
    expect(titles.filter((title, index) => !title.endsWith('.') || titles.indexOf(title) !== index)).toEqual(
      [],
    )
  })
})

describe('lessonOffenders', () => {
  const table: readonly Lesson[] = [
    { number: 1, title: 'One.' },
    { number: 2, title: 'Two.', planned: 'the wallet' },
    { number: 3, title: 'Three.', outside: 'there is none' },
  ]

  test('lessonOffenders finds nothing where those without a reason are cited and no others', () => {
    expect(lessonOffenders(table, heededAt(1, 1))).toEqual([])
    expect(lessonsToProve(table)).toEqual([{ id: 'lesson:1', state: 'covered' }])
  })

  test('lessonOffenders names a lesson without citation and without reason', () => {
    expect(lessonOffenders(table, [])).toEqual(['lesson:1: no test heeds it, and no reason says why'])
  })

  test('lessonOffenders names a citation of a lesson whose reason says that no test exists', () => {
    expect(lessonOffenders(table, heededAt(1, 2, 3))).toEqual([
      'lesson:2: x.test.ts:2 heeds it, so its reason "the wallet" is untrue',
      'lesson:3: x.test.ts:3 heeds it, so its reason "there is none" is untrue',
    ])
  })

  test('lessonOffenders names a citation of a number that no lesson has', () => {
    expect(lessonOffenders(table, heededAt(1, 4))).toEqual([
      'x.test.ts:4: lesson:4 is heeded, but no lesson has this number',
    ])
  })

  test.each<[string, Lesson, string]>([
    [
      'two reasons',
      { number: 1, title: 'One.', planned: 'the wallet', outside: 'there is none' },
      'lesson:1: either it comes with the wallet, or nothing here could break it',
    ],
    ['an empty reason', { number: 1, title: 'One.', outside: ' ' }, 'lesson:1: its reason is empty'],
    ['a number out of turn', { number: 7, title: 'Seven.', planned: 'x' }, 'lesson:7: stands at place 1'],
  ])('names %s', (_what, lesson, offender) => {
    expect(lessonOffenders([lesson], [])).toEqual([offender])
  })
})

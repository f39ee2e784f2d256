import { describe, expect, test } from 'vitest'
import { diffRows } from './diff-rows.ts'

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`)

describe('what a change makes of a text', () => {
  test('the difference of a text is shown by lines, removed before added', () => {
    expect(diffRows('one\ntwo\nthree', 'one\n2\nthree\n')).toEqual([
      { kind: 'same', text: 'one' },
      { kind: 'removed', text: 'two' },
      { kind: 'added', text: '2' },
      { kind: 'same', text: 'three' },
    ])
  })

  test('the difference of a text has three lines around it, and says how many it leaves out', () => {
    const before = lines(1, 20).join('\n')
    const rows = diffRows(before, before.replace('line 10', 'line ten'))
    expect(rows.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'skipped 6 lines are the same',
      ...lines(7, 9).map((text) => `same ${text}`),
      'removed line 10',
      'added line ten',
      ...lines(11, 13).map((text) => `same ${text}`),
      'skipped 7 lines are the same',
    ])
  })

  test('the difference of a text of an empty text is all of the new one, and of the same text nothing', () => {
    expect(diffRows('', 'new')).toEqual([{ kind: 'added', text: 'new' }])
    expect(diffRows('old', '')).toEqual([{ kind: 'removed', text: 'old' }])
    expect(diffRows('same', 'same').some(({ kind }) => kind === 'added' || kind === 'removed')).toBe(false)
  })
})

import { describe, expect, it } from 'vitest'
import { valueDiff } from './value-diff.ts'

describe('the difference between two values', () => {
  it('the difference between two values is of their lines as JSON', () => {
    expect(valueDiff({ step: 1, by: 'a' }, { step: 2, by: 'a' })).toEqual([
      { kind: 'same', text: '{\n' },
      { kind: 'removed', text: '  "step": 1,\n' },
      { kind: 'added', text: '  "step": 2,\n' },
      { kind: 'same', text: '  "by": "a"\n}\n' },
    ])
  })

  it('the difference between two values of texts is of their own lines', () => {
    expect(valueDiff('one\ntwo', 'one\nthree')).toEqual([
      { kind: 'same', text: 'one\n' },
      { kind: 'removed', text: 'two\n' },
      { kind: 'added', text: 'three\n' },
    ])
  })

  it('the difference between two values omits lines far from any change, and says how many', () => {
    const before = Array.from({ length: 30 }, (_, index) => index)
    const [head, , , tail] = valueDiff(before, [...before.slice(0, 15), 99, ...before.slice(16)])
    expect(head?.text).toBe('… 13 lines as they were\n  12,\n  13,\n  14,\n')
    expect(tail?.text).toBe('  16,\n  17,\n  18,\n… 12 lines as they were\n')
  })

  it('the difference between two values of what has nothing in common is the one and the other, however long', () => {
    const many = (letter: string) => Array.from({ length: 5000 }, (_, index) => `${letter}${index}`)
    expect(valueDiff(many('a').join('\n'), many('b').join('\n')).map(({ kind }) => kind)).toEqual([
      'removed',
      'added',
    ])
  })
})

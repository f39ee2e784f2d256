import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { toSegments } from './data-path.ts'

const own = '/var/lib/agent-7'

describe('a path by its letters', () => {
  test.each([
    ['/data', []],
    ['/data/', []],
    [own, []],
    ['', []],
    ['.', []],
    ['a//b/./c/', ['a', 'b', 'c']],
    ['/data//a/./b', ['a', 'b']],
    [`${own}/a`, ['a']],
    ['data/a', ['data', 'a']],
    ['a..b/...', ['a..b', '...']],
  ])('%j is %j below the data directory', (path, segments) => {
    verifies('limits:files:prefix-stripped')
    expect(toSegments(path, own)).toEqual(segments)
  })

  test.each(['/', '/database/a', `${own}x/a`, '/var/lib', '//data/a'])(
    '%s is outside of the data directory, and the caller learns which paths are allowed',
    (path) => {
      expect(() => toSegments(path, own)).toThrow(
        expect.objectContaining({ code: 'path-refused', detail: expect.stringContaining('/data') }),
      )
    },
  )

  test.each(['..', '../a', 'a/../b', '/data/..', `${own}/../a`, 'a/..'])(
    '%s is refused, wherever it would end: a folder on the way may be a link by then',
    (path) => {
      verifies('limits:files:dot-dot-rejected')
      expect(() => toSegments(path, own)).toThrow(expect.objectContaining({ code: 'path-refused' }))
    },
  )

  test('a null character in a path is refused, since a later reader may end the name there', () => {
    expect(() => toSegments('a.txt\0.png', own)).toThrow(
      expect.objectContaining({ code: 'path-refused', detail: expect.stringContaining('null') }),
    )
  })

  test('a path may be as long as the kernel takes one, and no longer', () => {
    expect(toSegments('x'.repeat(4096), own)).toEqual(['x'.repeat(4096)])
    expect(() => toSegments('x'.repeat(4097), own)).toThrow(
      expect.objectContaining({ code: 'path-refused', detail: expect.stringContaining('long') }),
    )
  })
})

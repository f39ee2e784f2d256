import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import {
  compileNamePattern,
  compilePathPattern,
  compileWordPattern,
  credentialMatches,
  keyMatches,
  listAllows,
  normalizeKey,
} from './glob.ts'

describe('a glob over keys', () => {
  test.each([
    ['*', 'a', true],
    ['*', 'a/b/c', true],
    ['a', 'a', true],
    ['a', 'a/b', false],
    ['a', 'A', false],
    ['a/*', 'a/b', true],
    ['a/*', 'a/b/c', false],
    ['a/*', 'a', false],
    ['a/**', 'a/b', true],
    ['a/**', 'a/b/c', true],
    ['a/**', 'a', false],
    ['a/**', 'ab/c', false],
    ['**', 'a/b', true],
    ['**/c', 'c', true],
    ['**/c', 'a/b/c', true],
    ['**/c', 'a/xc', false],
    ['a/**/c', 'a/c', true],
    ['a/**/c', 'a/b/b/c', true],
    ['a*c', 'abbc', true],
    ['a*c', 'ab/c', false],
    ['a**c', 'ab/c', true],
    ['*/b', 'a/b', true],
    ['*/b', 'a/a/b', false],
    ['a.b', 'axb', false],
    ['a?b', 'axb', false],
    ['[ab]', 'a', false],
    ['', 'a', false],
  ])('%s on %s gives %s', (pattern, key, expected) => {
    heedsLesson(34)
    verifies('resources:permission:blackboard-read', 'resources:permission:blackboard-write')
    expect(keyMatches(pattern, key)).toBe(expected)
  })

  test.each(['', '/a', 'a/', 'a//b', '.', 'a/../b', './a'])(
    'a glob over keys never matches %j, which is no key',
    (key) => {
      heedsLesson(34)
      expect(normalizeKey(key)).toBeNull()
      expect(keyMatches('*', key)).toBe(false)
      expect(keyMatches('**', key)).toBe(false)
    },
  )

  test('a glob over keys does not care how an accent was typed', () => {
    expect(keyMatches('caf\u00e9/*', 'cafe\u0301/x')).toBe(true)
  })

  test('a glob over keys agrees with a plain reading of its rules', () => {
    const piece = fc.constantFrom('a', 'b', '/', '*', '**')
    const key = fc.array(fc.constantFrom('a', 'b', '/'), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), key, (pieces, letters) => {
        const pattern = pieces.join('')
        const text = letters.join('')
        fc.pre(normalizeKey(text) !== null && pattern !== '*' && !/\*{3}/.test(pattern))
        const plain = pattern
          .replace(/(?<=^|\/)\*\*\//g, '§')
          .replace(/\*\*/g, '¶')
          .replace(/\*/g, '[^/]*')
          .replace(/¶/g, '.*')
          .replace(/§/g, '(?:.*/)?')
        expect(keyMatches(pattern, text)).toBe(new RegExp(`^(?:${plain})$`).test(text))
      }),
      { numRuns: 2000 },
    )
  })

  test('a glob over keys with many stars comes to an end, where a backtracking match would not in our time', () => {
    expect(keyMatches(`${'*a'.repeat(90)}b`, 'a'.repeat(512))).toBe(false)
  })
})

describe('a glob over credentials', () => {
  test.each([
    ['*', 'github_token', true],
    ['GitHub_*', 'github_token', true],
    ['github_token', 'GITHUB_TOKEN', true],
    ['github_?oken', 'github_token', true],
    ['github_[st]oken', 'github_token', true],
    ['github_[!t]oken', 'github_token', false],
    ['github_[a-f]oken', 'github_token', false],
    ['github_[a-z]oken', 'github_token', true],
    ['git[', 'git[', true],
    ['[]]', ']', true],
    ['github', 'github_token', false],
    ['team_*', 'team_a/deploy', true],
  ])('%s on %s gives %s', (pattern, name, expected) => {
    expect(credentialMatches(pattern, name)).toBe(expected)
  })

  test.each([
    ['[b-d]', 'bcd', 'ae-]['],
    ['[!b-d]', 'ae-]', 'bcd'],
    ['[bx]', 'bx', 'ac-]'],
    ['[bdx]', 'bdx', 'cw'],
    ['[b-]', 'b-', 'ac]'],
    ['[-b]', '-b', 'a]'],
    ['[b-dx-z]', 'bcdxyz', 'a-ew'],
    ['[]b]', ']b', 'a['],
  ])('a glob over credentials takes no secret that %s does not name', (pattern, named, others) => {
    for (const character of named) expect(credentialMatches(`key_${pattern}`, `key_${character}`)).toBe(true)
    for (const character of others)
      expect(credentialMatches(`key_${pattern}`, `key_${character}`)).toBe(false)
  })
})

describe('a list of names', () => {
  test('a list of names allows the named entries, and everything with a single star', () => {
    expect(listAllows(['a'], 'a')).toBe(true)
    expect(listAllows(['a'], 'ab')).toBe(false)
    expect(listAllows(['a*'], 'ab')).toBe(false)
    expect(listAllows(['*'], 'ab')).toBe(true)
    expect(listAllows([], 'a')).toBe(false)
  })
})

describe('a pattern for names of files', () => {
  test.each([
    ['*.csv', 'a.csv', true],
    ['*.csv', '.csv', false],
    ['*.csv', '.a.csv', false],
    ['.*', '.a', true],
    ['*.csv', 'a.CSV', false],
    ['*.csv', 'a.csv.part', false],
    ['*', 'anything at all', true],
    ['*', '.hidden', false],
    ['report-*-final.txt', 'report-3-final.txt', true],
    ['report-*-final.txt', 'report--final.txt', true],
    ['report-*-final.txt', 'report-final.txt', false],
    ['a*a', 'a', false],
    ['exact', 'exact', true],
    ['exact', 'exactly', false],
    ['day-?.log', 'day-1.log', true],
    ['day-?.log', 'day-10.log', false],
    ['day-[0-4].*', 'day-3.log', true],
    ['day-[!0-4].*', 'day-3.log', false],
    ['[', '[', true],
    ['*[', 'a[', true],
    ['*\u00E9.txt', 'e\u0301.txt', true],
  ])('%s on %s: %o', (pattern, name, expected) => {
    expect(compileNamePattern(pattern)(name)).toBe(expected)
  })

  test('a pattern for names of files agrees with fnmatch of credentials on names without a leading dot', () => {
    const letters = fc.string({
      unit: fc.constantFrom('a', 'b', '.', '*', '?', '[', ']', '!', '-'),
      maxLength: 8,
    })
    const names = fc.string({ unit: fc.constantFrom('a', 'b', '.', '-', ']'), maxLength: 8 })
    fc.assert(
      fc.property(letters, names, (pattern, name) => {
        fc.pre(!name.startsWith('.'))
        expect(compileNamePattern(pattern)(name)).toBe(credentialMatches(pattern, name))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('patterns of rules', () => {
  test.each([
    ['delete_*', 'Delete_all', true],
    ['DELETE', 'delete', true],
    ['delete', 'deleted', false],
    ['*', '.hidden/x', true],
    ['*', '', true],
    ['?at', 'cat', true],
    ['[!a]x', 'bx', true],
    ['[!a]x', 'ax', false],
    ['a*c', 'ab/c', true],
  ])('the word pattern %s on %s gives %s', (pattern, word, expected) => {
    expect(compileWordPattern(pattern)(word)).toBe(expected)
  })

  test.each([
    ['/a', '/a', true],
    ['/a', '/A', false],
    ['/a', '/a/', false],
    ['/a/*', '/a/b', true],
    ['/a/*', '/a/b/c', false],
    ['/a/*', '/b/b', false],
    ['/a/**', '/a/b/c', true],
    ['**/c', '/a/b/c', true],
    ['**/c', '/a/b/xc', false],
    ['/*.list', '/users.list', true],
    ['*', '/a', false],
    ['**', '/a/b', true],
  ])('the path pattern %s on %s gives %s', (pattern, path, expected) => {
    expect(compilePathPattern(pattern)(path)).toBe(expected)
  })
})

import { describe, expect, test } from 'vitest'
import { citationsIn } from './coverage-citations.ts'

function idsIn(source: string): readonly string[] {
  return citationsIn(source, 'x.test.ts').citations.map((citation) => citation.id)
}

describe('citationsIn', () => {
  test('citationsIn finds every id of a call, with the file and the line of the call', () => {
    const source = "test('a', () => {\n  verifies('limits:one', \"limits:two\")\n})\n"
    expect(citationsIn(source, 'a/x.test.ts')).toEqual({
      citations: [
        { id: 'limits:one', at: 'a/x.test.ts:2' },
        { id: 'limits:two', at: 'a/x.test.ts:2' },
      ],
      heeded: [],
      unreadable: [],
    })
  })

  test('citationsIn finds every lesson of a call by its number', () => {
    expect(citationsIn("test('a', () => {\n  heedsLesson(\n    11,\n    12,\n  )\n})", 'x.test.ts')).toEqual({
      citations: [],
      heeded: [
        { id: 'lesson:11', at: 'x.test.ts:2' },
        { id: 'lesson:12', at: 'x.test.ts:2' },
      ],
      unreadable: [],
    })
  })

  test('citationsIn finds a call that is broken over lines and ends in a comma', () => {
    expect(idsIn("verifies(\n  'limits:one',\n  'limits:two',\n)")).toEqual(['limits:one', 'limits:two'])
  })

  test.each([
    "// verifies('limits:one')",
    "/* verifies('limits:one') */",
    "/**\n * verifies('limits:one')\n */",
    'const text = "verifies(\'limits:one\')"',
    "const text = `verifies('limits:one')`",
    "import { verifies } from './verifies.ts'",
    "other.verifies('limits:one')",
    "reverifies('limits:one')",
    'function verifies(ids) {}',
    '// heedsLesson(11)',
    'function heedsLesson(number) {}',
  ])('citationsIn takes no citation from %s', (source) => {
    expect(citationsIn(source, 'x.test.ts')).toEqual({ citations: [], heeded: [], unreadable: [] })
  })

  test.each([
    "expect(text).toMatch(/it's/)\nverifies('limits:one')\nconst quote = \"'\"",
    "expect(text).toMatch(/`/)\nverifies('limits:one')\nconst tick = '`'",
    "const pattern = /[/'`]+/u\nverifies('limits:one')\nconst tick = '`'",
    "const half = a / b / c\nverifies('limits:one')",
    "const url = 'http://a' // it's\nverifies('limits:one')",
    "const escaped = 'it\\'s'\nverifies('limits:one')",
  ])('citationsIn is not misled by quotes and slashes before the call: %j', (source) => {
    expect(idsIn(source)).toEqual(['limits:one'])
  })

  test.each([
    'verifies(id)',
    "verifies(...['limits:one'])",
    'verifies()',
    "verifies('limits:' + name)",
    'verifies(11)',
    'heedsLesson(number)',
    'heedsLesson()',
    "heedsLesson('lesson:11')",
  ])('a call it cannot read is reported: %s', (source) => {
    expect(citationsIn(`\n${source}`, 'x.test.ts')).toEqual({
      citations: [],
      heeded: [],
      unreadable: ['x.test.ts:2'],
    })
  })
})

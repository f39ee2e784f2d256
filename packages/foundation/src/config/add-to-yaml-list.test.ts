import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { addToYamlList } from './add-to-yaml-list.ts'

const added = (text: string, entry: object = { a: 1 }) => addToYamlList(text, 'rules', entry)

describe('an entry that is added to a list of the owner’s file', () => {
  test.each<[string, string]>([
    ['', 'rules:\n  - a: 1\n'],
    ['# one\n\n# two\n', '# one\n\n# two\nrules:\n  - a: 1\n'],
    ['---\n# one\n', '---\n# one\nrules:\n  - a: 1\n'],
    ['null # one\n', ' # one\nrules:\n  - a: 1\n'],
    ['# one\nrules:\n  # - two\n', '# one\nrules:\n  - a: 1\n  # - two\n'],
    ['rules: # two\n', 'rules: # two\n  - a: 1\n'],
    ['rules: ~ # two\nx: 1\n', 'rules:  # two\n  - a: 1\nx: 1\n'],
    ['rules: [] # two\n', 'rules: [{"a":1}] # two\n'],
    ['rules: [ {b: 2},   {c: 3}, ] # two\n', 'rules: [ {b: 2},   {c: 3}, {"a":1}, ] # two\n'],
    [
      'rules:\n  # one\n  - b:   2 # two\n\n# three\nx: [1,2]\n',
      'rules:\n  # one\n  - b:   2 # two\n  - a: 1\n\n# three\nx: [1,2]\n',
    ],
    ['rules:\n- { b: 2,\n    c: [1,   2] } # two', 'rules:\n- { b: 2,\n    c: [1,   2] } # two\n- a: 1\n'],
    [
      'rules:\n    - b: |\n        text\n\n    # end\n',
      'rules:\n    - b: |\n        text\n    - a: 1\n\n    # end\n',
    ],
    ['other: 1 # one\n# two\n', 'other: 1 # one\n# two\nrules:\n  - a: 1\n'],
    ['  other: 1\n', '  other: 1\n  rules:\n    - a: 1\n'],
    ['x: 1\r\nrules:\r\n  - b: 2\r\ny: 3\r\n', 'x: 1\r\nrules:\r\n  - b: 2\r\n  - a: 1\r\ny: 3\r\n'],
    ['x: 1', 'x: 1\nrules:\n  - a: 1\n'],
  ])('leaves the bytes of %j as they are', (text, expected) => {
    expect(added(text)).toBe(expected)
    expect(parse(added(text)).rules.at(-1)).toEqual({ a: 1 })
  })

  test.each(['{ x: 1 } # one\n', 'x: 1 # one\n...\n', 'x: &l [1] # one\nrules: *l\n'])(
    '%j, which has a rare form, keeps its values and comments',
    (text) => {
      const changed = added(text)
      expect(changed).toContain('# one')
      expect(parse(changed)).toMatchObject({ rules: expect.arrayContaining([{ a: 1 }]) })
      expect(parse(changed).x).toEqual(parse(text).x)
    },
  )

  test('can be added again and again, and has long and strange texts as they are', () => {
    const entry = {
      name: 'x',
      match: { path: '/*: #{}[]' },
      when: 'a == "b" && '.repeat(30),
      reason: 'two\nlines',
    }
    const text = 'rules:\n  - { b: 2 } # mine\ncases: []\n'
    const twice = added(added(text, entry), entry)
    expect(parse(twice)).toEqual({ rules: [{ b: 2 }, entry, entry], cases: [] })
    expect(twice.startsWith('rules:\n  - { b: 2 } # mine\n')).toBe(true)
    expect(twice.endsWith('\ncases: []\n')).toBe(true)
  })

  test('changes no byte of a list, however it is spaced', () => {
    const space = fc.constantFrom('', ' ', '  ')
    const item = fc
      .tuple(space, space, fc.constantFrom('', ' # note', '\n', '\n    # own line'))
      .map(([a, b, end]) => `  - { ${a}b: ${b}2 }${end}\n`)
    fc.assert(
      fc.property(
        fc.array(item, { minLength: 1, maxLength: 5 }),
        fc.constantFrom('', 'x: [ 1,2 ]\n', '# end\n'),
        (items, rest) => {
          const text = `# head\nrules:\n${items.join('')}${rest}`
          const lines = added(text).split('\n')
          const at = lines.indexOf('  - a: 1')
          expect(lines.toSpliced(at, 1).join('\n')).toBe(text)
        },
      ),
    )
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { editWatchers } from './edit-watchers.ts'
import type { WatcherChange } from './edit-watchers.ts'
import { yamlForm } from '@flotilla/foundation/config'
import { readWatchers } from './read-watchers.ts'
import { entryOf } from './watch-rule.ts'
import type { WatcherEntry } from './watch-rule.ts'
import { parseDocument } from 'yaml'

const mine = `# My watchers.

watchers:
  # The post.
  - path: /srv/inbox # scanned at nine
    pattern: '*.pdf'
    # Whoever reads.
    agent: scout
    message: >-
      A letter has come:
      {filename}
    when: size_bytes > 0 # no empty ones

  # Invoices, for now off.
  # - path: /srv/invoices
  - { path: /srv/b, pattern: 'b*', agent: bob, message: "b" } # short
# The end.
`
const letter: WatcherEntry = {
  path: '/srv/inbox',
  pattern: '*.pdf',
  agent: 'scout',
  message: 'A letter has come: {filename}',
  when: 'size_bytes > 0',
}
const short: WatcherEntry = { path: '/srv/b', pattern: 'b*', agent: 'bob', message: 'b' }
const added: WatcherEntry = {
  path: '/srv/new',
  pattern: '*',
  agent: 'ann',
  message: 'two\nlines # and no comment',
}

const add = (after: WatcherEntry): WatcherChange => ({ before: null, after })

function edit(text: string | null, changes: readonly WatcherChange[], skipMissing = false): string {
  const edited = editWatchers(text, changes, { skipMissing })
  if (edited === null) throw new Error('nothing was changed')
  return edited
}

function meant(text: string): WatcherEntry[] {
  const reading = readWatchers(text)
  if (!reading.ok) throw new Error(`line ${reading.line}: ${reading.reason}`)
  return reading.rules.map((rule) => entryOf(rule))
}

const commentsOf = (text: string) => text.match(/#[^#\n]*/g) ?? []

describe('editing the watchers file', () => {
  test('adding an entry keeps the others, their comments and their order', () => {
    const text = edit(mine, [add(added)])
    expect(meant(text)).toEqual([letter, short, added])
    for (const comment of commentsOf(mine)) expect(text).toContain(comment)
    expect(text.indexOf('# The post.')).toBeLessThan(text.indexOf('/srv/inbox'))
    expect(text.indexOf('# The end.')).toBeGreaterThan(text.indexOf('/srv/new'))
  })

  test('changing an entry changes only what differs', () => {
    const text = edit(mine, [{ before: letter, after: { ...letter, message: 'Read {filepath}' } }])
    expect(meant(text)).toEqual([{ ...letter, message: 'Read {filepath}' }, short])
    expect(commentsOf(text).toSorted()).toEqual(commentsOf(mine).toSorted())
  })

  test('a condition is added to one entry and removed from another', () => {
    const { when: _none, ...always } = letter
    const text = edit(mine, [
      { before: letter, after: always },
      { before: short, after: { ...short, when: 'size_bytes > 9' } },
    ])
    expect(meant(text)).toEqual([always, { ...short, when: 'size_bytes > 9' }])
    expect(text).toContain('# Whoever reads.')
  })

  test.each([
    ['no file', null],
    ['an empty file', ''],
    ['a file of comments', '# one\n\n# two\n'],
    ['a file without a list', 'watchers:\n  # - path: /x\n  #   agent: y\n'],
    ['an empty list', 'watchers: [] # none yet\n# end\n'],
    ['a list in flow style', 'watchers: [{ path: /a, pattern: p, agent: a, message: m }] # one\n'],
    [
      'a list without indentation',
      '# a\nwatchers:\n- path: /a\n  pattern: p\n  # b\n  agent: a\n  message: m\n',
    ],
    ['windows', 'watchers:\r\n  # a\r\n  - path: /a\r\n    pattern: p\r\n    agent: a\r\n    message: m\r\n'],
    [
      'a document with an end marker',
      '---\nwatchers:\n  - {path: /a, pattern: p, agent: a, message: m}\n...\n',
    ],
  ])('an entry is added to %s', (_name, text) => {
    const before = meant(text ?? '')
    const after = edit(text, [add(added), add(short)])
    expect(meant(after)).toEqual([...before, added, short])
    for (const comment of commentsOf(text ?? '')) expect(after).toContain(comment.trim())
  })

  test('a change of an entry that differs is rejected, or ignored on request', () => {
    const gone = [{ before: { ...letter, message: 'other' }, after: null }]
    expect(() => editWatchers(mine, gone, { skipMissing: false })).toThrow(
      expect.objectContaining({ code: 'conflict' }),
    )
    expect(editWatchers(mine, gone, { skipMissing: true })).toBeNull()
  })

  test.each([
    [
      'an anchor',
      "watchers:\n  - { path: /a, pattern: p, agent: a, message: &m 'x' }\n  - { path: /b, pattern: p, agent: a, message: *m }\n",
    ],
    ['an alias', 'watchers:\n  - &e { path: /b, pattern: p, agent: a, message: x }\n  - *e\n'],
    ['a broken file', 'watchers:\n  - path: [\n'],
  ])('an edit whose meaning would change because of %s is rejected with a repair', (_name, text) => {
    const before: WatcherEntry = {
      path: _name === 'an anchor' ? '/a' : '/b',
      pattern: 'p',
      agent: 'a',
      message: 'x',
    }
    expect(() =>
      editWatchers(text, [{ before, after: { ...before, message: 'y' } }], { skipMissing: false }),
    ).toThrow(expect.objectContaining({ code: 'unprocessable', repair: expect.stringContaining('by hand') }))
  })

  test('an edit above the number of watchers is rejected', () => {
    const changes = Array.from({ length: 100 }, (_one, at) => add({ ...added, pattern: `${at}` }))
    expect(() => edit(mine, changes)).toThrow(expect.objectContaining({ code: 'unprocessable' }))
  })
})

const entry = fc.record(
  {
    path: fc.constantFrom('/', '/srv/in', '/srv/a b', '/srv/#x', '/srv/漢', '/srv/"q"'),
    pattern: fc.constantFrom('*', '*.pdf', '[ab]?', '- x', '# no', '"', 'é*', 'a: b'),
    agent: fc.constantFrom('scout', 'bob', 'true', 'null', 'n0'),
    message: fc
      .array(
        fc.constantFrom(
          'go',
          ' ',
          '\n',
          ': ',
          '- x',
          ' #',
          '"',
          "'",
          '{filename}',
          '漢',
          '\t',
          '&a',
          '*b',
          '|',
          '>',
          '\u0000',
          '\\',
        ),
        {
          minLength: 1,
          maxLength: 8,
        },
      )
      .map((parts) => parts.join(''))
      .filter((text) => text.trim() !== ''),
    when: fc.constantFrom('size_bytes > 0', 'filename contains "# x"'),
  },
  { requiredKeys: ['path', 'pattern', 'agent', 'message'], noNullPrototype: true },
)

test('any series of edits means exactly that and loses no comment', () => {
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 4 }),
      fc.array(entry, { minLength: 1, maxLength: 3 }),
      fc.array(fc.string({ unit: fc.constantFrom('a', ' ', '-', ':', '[', '"') }), { maxLength: 6 }),
      (standing, fresh, remarks) => {
        const text = commented(standing, remarks)
        const more = edit(text, fresh.map(add))
        expect(meant(more)).toEqual([...standing, ...fresh])
        for (const index of remarks.keys()) expect(more).toContain(`#r${index}`)
        const first = standing[0]
        if (first) {
          const other = { ...first, message: `${first.message}!` }
          const changed = edit(more, [{ before: first, after: other }])
          expect(meant(changed)).toHaveLength(standing.length + fresh.length)
          for (const index of remarks.keys()) expect(changed).toContain(`#r${index}`)
        }
        const back = edit(more, fresh.map((one) => ({ before: one, after: null })).toReversed(), true)
        expect(meant(back)).toEqual(standing)
      },
    ),
    { numRuns: 100 },
  )
})

/** A file as written by hand: a comment above each entry and at the end. */
function commented(entries: readonly WatcherEntry[], remarks: readonly string[]): string {
  const document = parseDocument('watchers: []\n', yamlForm)
  document.set('watchers', document.createNode(entries))
  const lines = document.toString({ lineWidth: 0 }).replace(/\n$/, '').split('\n')
  const list = entries.length === 0 ? ['watchers:'] : lines
  const out: string[] = []
  let at = 0
  for (const line of list) {
    if (line.startsWith('  - path: ') && at < remarks.length) out.push(`  #r${at} ${remarks[at++]}`)
    out.push(line)
  }
  for (; at < remarks.length; at++) out.push(`#r${at} ${remarks[at]}`)
  return `${out.join('\n')}\n`
}

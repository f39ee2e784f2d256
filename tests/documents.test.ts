import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reportedModel } from '@flotilla/protocol/harness-api'
import { harnessNames } from '@flotilla/protocol/harness-variable'
import { describe, expect, test } from 'vitest'
import { avoidedWords } from './plain-words.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const wordCountOf = (path: string) => read(path).split(/\s+/).filter(Boolean).length

describe('the size of a document', () => {
  test.each([
    ['README.md', 900],
    ['docs/architecture.md', 2500],
  ])('%s has at most %d words', (path, max) => {
    expect(wordCountOf(path)).toBeLessThanOrEqual(max)
  })
})

describe('docs/architecture.md', () => {
  test('docs/architecture.md has five diagrams', () => {
    expect(read('docs/architecture.md').match(/^```mermaid$/gm)).toHaveLength(5)
  })
})

describe('docs/glossary.md', () => {
  const terms = [...read('docs/glossary.md').matchAll(/^\| ([a-z][\w ]*?) +\|/gm)].map(
    ([, term]) => term ?? '',
  )

  test('the glossary defines each term once, in the order of the alphabet', () => {
    const defined = terms.filter((term) => term !== 'term')
    expect(defined.length).toBeGreaterThan(40)
    expect(defined).toEqual([...new Set(defined)].toSorted((one, other) => one.localeCompare(other, 'en')))
  })
})

/** Terms with a special meaning in this project, as documents spell them. */
const projectTerms = [
  ['action', 'agent API', 'agent token', 'approval', 'attempt', 'audit log', 'blackboard', 'bootstrap file'],
  ['budget', 'caller', 'cassette', 'channel', 'cooldown', 'egress filter', 'fencing token', 'gate'],
  ['hand-off', 'heartbeat', 'hibernate', 'isolation level', 'lane', 'lease', 'mesh', 'model gateway'],
  ['operator', 'origin', 'outbox', 'permission record', 'playbook', 'program token', 'quarantine', 'replay'],
  [
    'reservation',
    'sandbox',
    'scripted model',
    'settlement',
    'skill',
    'steer',
    'surface',
    'template',
    'trigger',
  ],
  ['fence', 'rung', 'briefing', 'stimulus', 'stand-in', 'wall'],
].flat()

describe('a term of this project', () => {
  const documents = globSync(['*.md', 'docs/**/*.md'], { cwd: root }).filter(
    (path) => !/^(?:docs\/decisions\/|docs\/glossary|CHANGELOG)/.test(path),
  )
  const texts = documents.map((path) => read(path).replaceAll(/`[^`]*`/g, ''))
  const glossary = read('docs/glossary.md')

  test('a term of this project is defined in the glossary when two documents use it', () => {
    const isDefined = (term: string) => new RegExp(String.raw`^\| ${term}s? +\|`, 'm').test(glossary)
    const isUsed = (term: string) =>
      texts.filter((text) => new RegExp(String.raw`\b${term}s?\b`, 'i').test(text)).length > 1
    expect(projectTerms.filter((term) => isUsed(term) && !isDefined(term))).toEqual([])
  })
})

describe('docs/guide/harness.md', () => {
  test('docs/guide/harness.md has a row for every harness whose configuration Flotilla knows', () => {
    const named = [...read('docs/guide/harness.md').matchAll(/^\| `([a-z-]+)` +\| `[^`]+` +\| `\/v1/gm)]
    expect(named.map(([, name]) => name)).toEqual([...harnessNames])
  })

  test('docs/guide/harness.md says of every such harness which tokens it reports, in the words of the costs', () => {
    const page = read('docs/guide/harness.md')
    const [, table = ''] = page.split('| tokens that it reports')
    const rows = [...table.matchAll(/^\| `([a-z-]+)` +\|/gm)].map(([, name]) => name)
    expect(new Set(rows)).toEqual(new Set(harnessNames))
    expect(page).toContain(`"${reportedModel}"`)
  })
})

describe('docs/decisions/README.md', () => {
  const pages = readdirSync(join(root, 'docs/decisions')).filter((name) => name !== 'README.md')

  test('docs/decisions/README.md lists every decision once, with its title', () => {
    const listed = [...read('docs/decisions/README.md').matchAll(/^- \[(.+)\]\((.+)\)$/gm)].map(
      ([, title = '', page = '']) => [page, title],
    )
    const titles = pages.map((page) => [page, /^# (.+)$/m.exec(read(`docs/decisions/${page}`))?.[1] ?? ''])
    expect(listed).toHaveLength(titles.length)
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(titles))
  })
})

describe('a decision page', () => {
  const pages = readdirSync(join(root, 'docs/decisions'))
    .filter((name) => name !== 'README.md')
    .map((name) => ({ name, text: read(`docs/decisions/${name}`) }))
  const without = (isRight: (page: { name: string; text: string }) => boolean) =>
    pages.filter((page) => !isRight(page)).map(({ name }) => name)

  test('a decision page begins with its title and a status line with the date of its file', () => {
    const wrong = without(({ name, text }) => {
      const status =
        /^# .+\n\nStatus: (?:accepted|superseded by \[.+\]\(.+\)), (\d{4}-\d\d-\d\d)(?:; .+)?\n\n## /
      return status.exec(text)?.[1] === name.slice(0, 10)
    })
    expect(wrong).toEqual([])
  })

  test('a decision page has context, decision, alternatives and consequences, then at most an appendix', () => {
    const wrong = without(({ text }) => {
      const sections = [...text.matchAll(/^## (.+)$/gm)].map(([, section]) => section ?? '')
      return /^Context,Decision,Alternatives,Consequences(?:,Measurements|,Appendix)?$/.test(
        sections.join(','),
      )
    })
    expect(wrong).toEqual([])
  })

  test('a decision page has at most 300 words before its appendix', () => {
    const wrong = without(({ text }) => {
      const body = text.split(/^## (?:Measurements|Appendix)$/m)[0] ?? ''
      return body.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length <= 300
    })
    expect(wrong).toEqual([])
  })

  test('a decision page uses none of the avoided words outside code', () => {
    const wrong = without(({ text }) => {
      const prose = text.replaceAll(/`[^`]*`/g, '')
      return avoidedWords.every(({ pattern }) => !prose.match(pattern))
    })
    expect(wrong).toEqual([])
  })

  test('links only to files that exist; a superseded page links its successor', () => {
    const wrong = without(({ text }) => {
      const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map(([, link]) => link ?? '')
      return links.every((link) => existsSync(join(root, 'docs/decisions', link)))
    })
    expect(wrong).toEqual([])
  })

  test('a decision page that a later page replaces says so in its status line', () => {
    const named = pages.flatMap(({ text }) =>
      [...text.matchAll(/(?:This page replaces|This replaces|This amends)\b[^\n]*/g)].flatMap(([sentence]) =>
        [...sentence.matchAll(/\]\(([^)]+)\)/g)].map(([, page]) => page ?? ''),
      ),
    )
    const silent = named.filter(
      (name) => !/^Status: .*(?:amended|superseded) by \[/m.test(read(`docs/decisions/${name}`)),
    )
    expect(silent).toEqual([])
  })
})

import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', 'packages', 'dashboard', 'src')
const names = readdirSync(root, { recursive: true, encoding: 'utf8' })
const sources = names.filter((name) => /\.tsx?$/.test(name) && !name.includes('.test.'))
const textOf = new Map(names.filter((name) => /\.(?:tsx?|css)$/.test(name)).map((name) => [name, read(name)]))

function read(name: string): string {
  return readFileSync(join(root, name), 'utf8')
}

/** Names of the files that a file imports, statically or dynamically. */
function named(name: string, pattern: RegExp): readonly string[] {
  return [...(textOf.get(name) ?? '').matchAll(pattern)].map((match) =>
    normalize(join(dirname(name), match[1] ?? '')),
  )
}

/** A file and everything that it imports statically. */
function withAll(name: string): ReadonlySet<string> {
  const seen = new Set<string>()
  const left = [name]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (seen.has(next)) continue
    seen.add(next)
    left.push(...named(next, /(?:from|import) '(\.[^']+)'/g))
  }
  return seen
}

function classesIn(sheet: string): readonly string[] {
  const rules = (textOf.get(sheet) ?? '').replace(/\/\*.*?\*\//gs, '').replace(/\{[^{}]*\}/g, '{}')
  return [...rules.matchAll(/\.([a-z][a-z0-9-]*)/g)].map((match) => match[1] ?? '')
}

const sheets = [...textOf.keys()].filter((name) => name.endsWith('.css'))
const sheetsOf = new Map<string, string[]>()
for (const sheet of sheets)
  for (const name of classesIn(sheet)) sheetsOf.set(name, [...(sheetsOf.get(name) ?? []), sheet])

/** The page that draws a part: parts of the settings are drawn only within their page. */
const drawnWithin = (part: string): readonly string[] =>
  part.startsWith('pages/settings/') ? ['pages/settings/settings-page.tsx'] : []

describe('a page of the dashboard', () => {
  it('a page of the dashboard loads the sheets of all its classes, regardless of the page shown before', () => {
    const first = withAll('main.tsx')
    const late = sources.flatMap((name) => named(name, /import\('(\.[^']+)'\)/g))
    expect(late).toContain('pages/approvals-page.tsx')
    const lacking = late.flatMap((part) => {
      const files = new Set([
        ...first,
        ...drawnWithin(part).flatMap((one) => [...withAll(one)]),
        ...withAll(part),
      ])
      return [...withAll(part)].flatMap((file) =>
        [...(textOf.get(file) ?? '').matchAll(/className="([^"]*)"/g)]
          .flatMap((match) => (match[1] ?? '').split(' '))
          .filter((name) => sheetsOf.has(name) && !sheetsOf.get(name)?.some((sheet) => files.has(sheet)))
          .map((name) => `${part}: .${name} of ${file}`),
      )
    })
    // Shared fields are drawn by the pages that need them.
    expect([...new Set(lacking)].filter((one) => !one.endsWith(' of design/fields.tsx'))).toEqual([])
  })
})

import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { anchorsIn } from './coverage-sections.ts'

const root = join(import.meta.dirname, '..')
/** Decision pages are not edited after their date, so their paths are those of that date. */
const documents = globSync(['*.md', 'docs/**/*.md', 'packages/*/README.md', 'packages/*/src/**/README.md'], {
  cwd: root,
  exclude: (name) => name === 'node_modules',
}).filter((path) => !path.startsWith('docs/decisions/') && path !== 'CHANGELOG.md')

/** Top-level folders with which a path in backticks may begin. */
const places = ['.', 'packages', ...globSync('packages/*/src', { cwd: root })]
const folders = new Set(
  places
    .flatMap((place) => globSync('*/', { cwd: join(root, place) }))
    .map((path) => path.replace(/\/$/, '')),
)

/** Finds paths of the repository in backticks: two parts or more, beginning with one of its folders. */
function pathsIn(text: string): readonly string[] {
  return [...text.matchAll(/`([\w.-]+(?:\/[\w.*-]+)+\/?)`/g)]
    .map(([, path = '']) => path.replace(/\/\*\*?$/, '').replace(/\/$/, ''))
    .filter((path) => folders.has(path.split('/')[0] ?? '') && !isOfHome(path))
}

/**
 * True for folders of a fleet's home or of an agent's data with the same names, for what tests write into `reports`, and
 * for a protocol of OpenTelemetry.
 */
function isOfHome(path: string): boolean {
  return (
    path === 'http/protobuf' ||
    /^(?:reports|config|data|projects|workspace|learnings|memory|skills|browser|app|images\/sha256)\b/.test(
      path,
    )
  )
}

function isThere(path: string): boolean {
  return places.some((place) =>
    [path, path.replace('/', '/src/')].some((one) =>
      ['', '.ts', '.tsx'].some((end) => globSync(join(root, place, `${one}${end}`)).length > 0),
    ),
  )
}

describe.each(documents)('%s', (document) => {
  const text = readFileSync(join(root, document), 'utf8')

  test('a document names paths that exist', () => {
    expect(pathsIn(text).filter((path) => !isThere(path))).toEqual([])
  })

  test('links to files and headings that exist', () => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^[a-z]+:/.test(link))
    const broken = links.filter((link) => {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? join(root, document) : join(root, dirname(document), file)
      if (!existsSync(target)) return true
      return (
        anchor !== undefined && target.endsWith('.md') && !anchorsIn(readFileSync(target, 'utf8')).has(anchor)
      )
    })
    expect(broken).toEqual([])
  })
})

test('paths are recognized in the pages that name most of them', () => {
  const counts = ['CONTRIBUTING.md', 'docs/reference/code-walks.md', 'docs/architecture.md'].map(
    (page) => pathsIn(readFileSync(join(root, page), 'utf8')).length,
  )
  expect(counts.every((count) => count > 8)).toBe(true)
})

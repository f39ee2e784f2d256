import { describe, expect, test } from 'vitest'
import { readSourceFiles } from './source-files.ts'
import { excludedPaths } from './walk-exclusions.ts'
import { indexSources, readPage, readWalks } from './walks.ts'
import type { Hop, Walk } from './walks.ts'

const files = readSourceFiles()
const sources = indexSources(files)
const walks = readWalks(readPage())
const eventFiles = files.filter(({ path }) => /\/src\/events\/\w+-events\.ts$/.test(path))
const endpoints = files
  .filter(({ path }) => path.startsWith('packages/protocol/src/'))
  .map(({ text }) => text)

/** Whether both sides of a hop name it: an endpoint is bound in a route of the next file's module. */
function isCrossed({ kind, name }: Hop, above: readonly string[], next: string): boolean {
  // The type of a function has its name with a capital.
  const names = new RegExp(`\\b[${name[0]?.toLowerCase()}${name[0]?.toUpperCase()}]${name.slice(1)}\\b`)
  if (kind === 'event') {
    const told = above.some((path) =>
      sources.inModuleOf(path).some((text) => text.includes(`${name}.publish`)),
    )
    const heard = sources.inModuleOf(next).some((text) => text.includes(`${name}.subscribe`))
    const isDeclared = eventFiles.some(({ text }) => text.includes(`readonly ${name}: `))
    return isDeclared && told && heard
  }
  if (!above.some((path) => names.test(sources.textOf(path)))) return false
  if (kind === 'port') return names.test(sources.textOf(next))
  const isEndpoint = endpoints.some((text) => new RegExp(`^ {2}${name}: \\{\\s*method: `, 'm').test(text))
  return isEndpoint && sources.inModuleOf(next, '.routes.ts').some((text) => names.test(text))
}

function linesOf({ steps }: Walk): number {
  const texts = steps.map(({ path }) => files.find((file) => file.path === path)?.text ?? '')
  return texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0)
}

describe('the page of code walks', () => {
  test('the page of code walks describes four flows', () => {
    expect(walks.map(({ name }) => name)).toEqual([
      'Chat message',
      'Return of a hand-off',
      'Cron tick',
      'Model call with money',
    ])
  })

  test('every excluded file exists', () => {
    const isThere = (path: string) =>
      path.endsWith('**')
        ? files.some((file) => file.path.startsWith(path.slice(0, -2)))
        : files.some((file) => file.path === path)
    expect(excludedPaths.filter((path) => !isThere(path))).toEqual([])
  })
})

describe.each(walks.map((walk) => [walk.name, walk] as const))('the walk "%s"', (_name, walk) => {
  test('a walk goes through files that are there, each once', () => {
    const paths = walk.steps.map(({ path }) => path)
    expect(paths.filter((path) => sources.textOf(path) === '')).toEqual([])
    expect(paths).toHaveLength(new Set(paths).size)
  })

  test('a walk reaches each file from one above it, or by the hop before it', () => {
    const lost = walk.steps.filter(({ path, hops }, index) => {
      const above = walk.steps.slice(0, index).map((step) => step.path)
      if (index === 0) return hops.length > 0
      if (hops.length === 0) return !sources.isReached(path, above)
      return !hops.every((hop) => isCrossed(hop, above, path))
    })
    expect(lost).toEqual([])
  })

  test('hops by a port only where no import leads', () => {
    const needless = walk.steps.filter(({ path, hops }, index) => {
      const above = walk.steps.slice(0, index).map((step) => step.path)
      return hops.some(({ kind }) => kind === 'port') && sources.isReached(path, above)
    })
    expect(needless.map(({ path }) => path)).toEqual([])
  })

  test('a walk keeps to its bounds', () => {
    expect(walk.steps.length).toBeLessThanOrEqual(walk.filesMax)
    expect(linesOf(walk)).toBeLessThanOrEqual(walk.linesMax)
  })

  test('a walk passes no file that only forwards', () => {
    const decides = /\bif \(|\bswitch \(|\bfor (?:await )?\(|\bwhile \(| \? |\?\? |\|\| |&& |\.transaction\(/
    expect(walk.steps.filter(({ path }) => !decides.test(sources.textOf(path)))).toEqual([])
  })
})

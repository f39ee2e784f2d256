import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const guides = ['CONTRIBUTING.md', 'docs/checklists/new-adapter.md', 'docs/checklists/new-endpoint.md']

describe('a guide', () => {
  test.each(guides)('%s names paths that are there', (guide) => {
    const text = readFileSync(join(root, guide), 'utf8')
    const named = [...text.matchAll(/`((?:packages|tests|scripts|docs)\/[\w./-]+)`/g)].map(
      (match) => match[1] ?? '',
    )
    expect(named.length).toBeGreaterThan(2)
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  test('architecture.md walks files that are there', () => {
    const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
    const flows = page.slice(page.indexOf('### Other flows'), page.indexOf('### Where does'))
    const walked = [...flows.matchAll(/`([a-z][\w-]*(?:\/[\w.-]+)+)`/g)].map((match) => match[1] ?? '')
    expect(walked.length).toBeGreaterThan(20)
    const places = ['packages/mesh/src', 'packages/agent/src']
    expect(
      walked.filter((path) => !places.some((place) => existsSync(join(root, place, `${path}.ts`)))),
    ).toEqual([])
  })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const read = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8')
const wordsOf = (path: string) => read(path).split(/\s+/).filter(Boolean).length

describe('the size of a document', () => {
  test.each([
    ['README.md', 900],
    ['docs/architecture.md', 2500],
  ])('%s has at most %d words', (path, max) => {
    expect(wordsOf(path)).toBeLessThanOrEqual(max)
  })
})

describe('docs/architecture.md', () => {
  test('has five diagrams', () => {
    expect(read('docs/architecture.md').match(/^```mermaid$/gm)).toHaveLength(5)
  })
})

describe('docs/glossary.md', () => {
  const terms = [...read('docs/glossary.md').matchAll(/^\| ([a-z][\w ]*?) +\|/gm)].map(
    ([, term]) => term ?? '',
  )

  test('defines each term once, in the order of the alphabet', () => {
    const defined = terms.filter((term) => term !== 'term')
    expect(defined.length).toBeGreaterThan(40)
    expect(defined).toEqual([...new Set(defined)].toSorted((one, other) => one.localeCompare(other, 'en')))
  })
})

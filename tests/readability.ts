import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from './source-files.ts'

/** Readability figures of a document. */
export interface Readability {
  readonly path: string
  readonly sentences: number
  /** Words of an average sentence. */
  readonly averageWords: number
  /** Share of sentences above 35 words, from 0 to 1. */
  readonly longShare: number
}

export const longSentenceWords = 35

/** Documents that people read from beginning to end; generated tables and dated pages are left out. */
export function readabilityOfDocuments(): readonly Readability[] {
  return globSync(['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/**/*.md'], { cwd: repositoryRoot })
    .filter((path) => !path.startsWith('docs/decisions/'))
    .map((path) => ({ path, ...readabilityOf(readFileSync(join(repositoryRoot, path), 'utf8')) }))
    .filter(({ sentences }) => sentences > 0)
    .toSorted((one, other) => other.averageWords - one.averageWords)
}

/** Counts the sentences of prose and list items; code, tables and headings do not count. */
export function readabilityOf(markdown: string): Omit<Readability, 'path'> {
  const prose = markdown
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/^(?:#|\||<!--|!\[).*$/gm, '')
    .replaceAll(/`[^`]*`/g, 'code')
    .replaceAll(/\]\([^)]*\)/g, ']')
  const sentences = prose
    .split(/\n\s*\n|\n\s*(?:[-*]|\d+\.)\s/)
    .flatMap((paragraph) => paragraph.replaceAll(/\s+/g, ' ').split(/(?<=[.!?])\s+(?=\S)/))
    .map((sentence) => sentence.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word)).length)
    .filter((words) => words > 1)
  const total = sentences.reduce((sum, words) => sum + words, 0)
  return {
    sentences: sentences.length,
    averageWords: sentences.length === 0 ? 0 : total / sentences.length,
    longShare:
      sentences.length === 0
        ? 0
        : sentences.filter((words) => words > longSentenceWords).length / sentences.length,
  }
}

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { citationsIn, type SourceCitations } from './coverage-citations.ts'
import type { CoverageFacts, LedgerClause } from './coverage-report.ts'
import { anchorsIn } from './coverage-sections.ts'

const testFiles = ['packages/*/src/**/*.{test,conformance}.ts', 'tests/**/*.{test,conformance}.ts']

/** Reads everything from the repository at `root` that the clauses are compared with. */
export function readCoverageFacts(root: string, clauses: readonly LedgerClause[]): CoverageFacts {
  return {
    clauses,
    ...readCitations(root),
    decisionFiles: new Set(globSync('docs/decisions/*.md', { cwd: root })),
    documentSections: new Set(
      globSync('docs/**/*.md', { cwd: root }).flatMap((page) => sectionsOf(root, page)),
    ),
  }
}

function sectionsOf(root: string, page: string): readonly string[] {
  const anchors = anchorsIn(readFileSync(join(root, page), 'utf8'))
  return [...anchors].map((anchor) => `${page}#${anchor}`)
}

/** Reads the citations of all tests of the repository at `root`, in the order of the files' names. */
export function readCitations(root: string): SourceCitations {
  const found = globSync(testFiles, { cwd: root })
    .sort()
    .map((file) => citationsIn(readFileSync(join(root, file), 'utf8'), file))
  return {
    citations: found.flatMap((one) => one.citations),
    heeded: found.flatMap((one) => one.heeded),
    unreadable: found.flatMap((one) => one.unreadable),
  }
}

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { problemDocs } from './problem-docs.ts'

test('docs/problems.md says what the catalogue says', () => {
  expect(readFileSync(join(import.meta.dirname, '..', 'docs', 'problems.md'), 'utf8')).toBe(problemDocs())
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { toolDocs } from './tool-docs.ts'

test('docs/tools.md says what the table of groups says', () => {
  expect(readFileSync(join(import.meta.dirname, '..', 'docs', 'tools.md'), 'utf8')).toBe(toolDocs())
})

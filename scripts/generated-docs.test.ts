import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { generatedDocs } from './generated-docs.ts'

test.each(await generatedDocs())('%s is what `npm run docs` writes', (path, text) => {
  expect(readFileSync(join(import.meta.dirname, '..', path), 'utf8')).toBe(text)
})

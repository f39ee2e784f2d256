import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exitCodeWords, exitCodes } from './exit-codes.ts'

test('help and page name just the exit codes that there are', () => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'exit-codes.md'), 'utf8')
  const inPage = [...page.matchAll(/^\| (\d) /gm)].map(([, code]) => Number(code))
  expect(inPage).toEqual(Object.values(exitCodes))
  expect([...exitCodeWords.matchAll(/\b(\d) /g)].map(([, code]) => Number(code))).toEqual(inPage)
})

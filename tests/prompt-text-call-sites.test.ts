import { expect, test } from 'vitest'
import { readSourceFiles, withoutComments } from './source-files.ts'
import { verifies } from './verifies.ts'

test('invisible characters are stripped at no fewer call sites than the specification counts', () => {
  verifies('limits:invisible-unicode:call-sites')
  const calls = readSourceFiles()
    .filter(({ path, isTest }) => !isTest && path.startsWith('packages/'))
    .flatMap(({ text }) => withoutComments(text).match(/\bsanitizeForPrompt\(/g) ?? [])
  expect(calls.length).toBeGreaterThanOrEqual(56)
})

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { programFile, programsFolder } from '@flotilla/protocol/built-program'
import { expect, test } from 'vitest'

test('the bootstrap, which no TypeScript can be shared with, starts the file that a build writes', () => {
  const bootstrap = readFileSync(join(import.meta.dirname, '..', 'bootstrap.mjs'), 'utf8')
  const inWords = (path: string) =>
    path
      .split('/')
      .map((part) => `'${part}'`)
      .join(', ')
  expect(bootstrap).toContain(`join(root, ${inWords(programsFolder)}, 'built-for')`)
  const everythingIsThere = { readFileSync: () => '', statSync: () => ({ size: 1, mtimeMs: 1 }) }
  const started = programFile(everythingIsThere, '', 'cli').slice(1)
  expect(dirname(dirname(started))).toBe(programsFolder)
  expect(bootstrap).toContain(`join(root, ${inWords(started)})`)
})

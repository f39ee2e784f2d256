import { globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { dataPaths } from './data-paths.ts'

const top = join(import.meta.dirname, '../../../..')
/** Texts that people read: guides, alerts, help and repairs. */
const texts = ['README.md', 'docs/**/*.{md,yml}', 'packages/*/src/**/*.{ts,tsx}', 'deploy/**/*.{md,yml,yaml}']
const named = /(?<![/.\w-])(?:config|data|logs|run)\/[a-z][a-z-]*\.(?:db|json|jsonl|log|yaml)(?![.\w-])/g

test('every file of the home that a text names is among the paths of a home', () => {
  const known = Object.values(dataPaths('/home')).map((path) => relative('/home', path))
  const files = globSync(texts, { cwd: top }).filter((file) => !/\.test\.tsx?$|node_modules/.test(file))
  const found = files.flatMap((file) =>
    (readFileSync(join(top, file), 'utf8').match(named) ?? []).map((path) => ({ file, path })),
  )
  expect(new Set(found.map(({ path }) => path))).toContain('data/mesh.log')
  expect(found.filter(({ path }) => !known.includes(path))).toEqual([])
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { namedModules } from './named-modules.ts'

it('modules start in the order of their contexts, and of each context', () => {
  const one = { api: null }
  const contexts = { low: { modules: { b: one, a: one } }, high: { modules: { c: one } } }
  expect(namedModules(contexts).map(([name]) => name)).toEqual(['b', 'a', 'c'])
})

it('observers start first, so that they close last and see the model calls that end while the gateway closes', () => {
  const compose = readFileSync(join(import.meta.dirname, 'compose.ts'), 'utf8')
  expect(compose).toContain('const modules = namedModules({ observers }).concat(')
})

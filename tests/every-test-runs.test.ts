import { globSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { expect, it } from 'vitest'
import config from '../vitest.config.ts'

interface Project {
  readonly test: { readonly name: string; readonly include: string[]; readonly exclude?: string[] }
}

it('every file of tests belongs to one project of the runner, and to one alone', () => {
  const root = join(import.meta.dirname, '..')
  // The runner's own type of a project is wider than the values in the configuration file.
  const projects = (config.test?.projects ?? []) as readonly Project[]
  const files = ['packages/*/src/**', 'tests/**', 'scripts/**', 'bench/**', 'images/**'].flatMap((folder) =>
    globSync(`${folder}/*.test.ts`, { cwd: root }),
  )
  const isOf = (file: string, { test: { include, exclude = [] } }: Project) =>
    include.some((glob) => matchesGlob(file, glob)) && !exclude.some((glob) => matchesGlob(file, glob))
  const owners = files.map((file) => [
    file,
    projects.filter((one) => isOf(file, one)).map((one) => one.test.name),
  ])
  expect(files.length).toBeGreaterThan(400)
  expect(owners.filter(([, names]) => names?.length !== 1)).toEqual([])
})

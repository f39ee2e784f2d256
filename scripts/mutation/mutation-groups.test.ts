import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { equivalents } from './equivalents/all-equivalents.ts'
import { mutationGroups } from './mutation-groups.ts'

const root = join(import.meta.dirname, '..', '..')
const allFiles = mutationGroups.flatMap(({ files }) => files)

describe('the groups of files that decide', () => {
  test.each(mutationGroups.map((group) => [group.name, group] as const))(
    '%s names files that are there, and tests for them',
    (_name, { files, tests }) => {
      expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
      expect(tests.filter((pattern) => globSync(pattern, { cwd: root }).length === 0)).toEqual([])
    },
  )

  test('the groups of files that decide hold each file once, under a name that is given once', () => {
    expect(allFiles).toEqual([...new Set(allFiles)])
    const names = mutationGroups.map(({ name }) => name)
    expect(names).toEqual([...new Set(names)])
  })
})

describe('the list of equivalent mutants', () => {
  test('the list of equivalent mutants speaks of lines that stand in a file of a group, and says why', () => {
    const lost = equivalents.filter(({ file, line }) => {
      if (!allFiles.includes(file)) return true
      const lines = readFileSync(join(root, file), 'utf8').split('\n')
      return !lines.some((one) => one.trim() === line)
    })
    expect(lost).toEqual([])
    expect(equivalents.filter(({ reason }) => reason.length < 20)).toEqual([])
  })
})

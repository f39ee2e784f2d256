import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { meshPackages } from './package-rules.ts'
import { readSourceFiles, repositoryRoot } from './source-files.ts'

const sources = readSourceFiles().filter(({ path, isTest }) => !isTest && path.startsWith('packages/'))
const names = meshPackages.map(({ name }) => name).filter((name) => name !== 'mesh')

/** The tables that the schema and the migrations create. */
const tables = [
  ...new Set(
    sources
      .filter(({ path }) => /\/storage\/(?:schema|migrations)\//.test(path))
      .flatMap(({ text }) => [...text.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/g)])
      .map(([, table = '']) => table),
  ),
]

/** Returns the names in backticks of the README's line that begins with this text. */
function namesIn(name: string, line: string): readonly string[] {
  const readme = readFileSync(join(repositoryRoot, 'packages', name, 'README.md'), 'utf8')
  const found = readme.split('\n').find((one) => one.startsWith(`- ${line}`)) ?? ''
  return [...found.matchAll(/`([^`]+)`/g)].map(([, one = '']) => one)
}

/** Returns the tables that the README of a package claims; `wallet_*` means all tables with this prefix. */
function claimedBy(name: string): readonly string[] {
  return namesIn(name, 'Rows and files:').flatMap((claim) =>
    claim.endsWith('*')
      ? tables.filter((table) => table.startsWith(claim.slice(0, -1)))
      : tables.filter((table) => table === claim),
  )
}

describe('the README of a package of the mesh', () => {
  test('every table is claimed by exactly one package', () => {
    expect(tables.length).toBeGreaterThan(60)
    expect(names.flatMap(claimedBy).toSorted()).toEqual(tables.toSorted())
  })

  test.each(names)('%s writes each table that it claims', (name) => {
    const own = sources
      .filter(({ path }) => path.startsWith(`packages/${name}/`) && !path.includes('/storage/'))
      .map(({ text }) => text)
      .join('\n')
    const isWritten = (table: string) => new RegExp(String.raw`(?:INTO|UPDATE|FROM)\s+${table}\b`).test(own)
    expect(claimedBy(name).filter((table) => !isWritten(table))).toEqual([])
  })

  test.each(names)('%s names the folders that it has', (name) => {
    const readme = readFileSync(join(repositoryRoot, 'packages', name, 'README.md'), 'utf8')
    const folders = [...readme.matchAll(/^- `(\w+)\/`:/gm)].map(([, folder = '']) => folder)
    const there = globSync('*/', { cwd: join(repositoryRoot, 'packages', name, 'src') })
    expect(folders.toSorted()).toEqual(there.map((path) => path.replace(/\/$/, '')).toSorted())
  })
})

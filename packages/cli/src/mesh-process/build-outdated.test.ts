import * as fs from 'node:fs'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { buildNames, programsFolder, stampOf } from '@flotilla/protocol/built-program'
import { afterEach, expect, test } from 'vitest'
import { buildOutdated } from './build-outdated.mjs'

const roots: string[] = []
afterEach(() => roots.splice(0).forEach((root) => rmSync(root, { recursive: true })))

/** A checkout with a current build of everything, whose build script only records that it ran. */
function aCheckout() {
  const root = mkdtempSync(join(tmpdir(), 'flotilla-checkout-'))
  roots.push(root)
  const put = (path: string, text: string): string => {
    const file = join(root, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    return file
  }
  put(
    'scripts/build-programs.ts',
    "import { writeFileSync } from 'node:fs'\nwriteFileSync(`${import.meta.dirname}/ran`, '')\n",
  )
  for (const name of buildNames) {
    const source = put(`packages/${name}.ts`, name)
    const main = put(`${programsFolder}/${name}/main`, name)
    const record = { root, main, inputs: { [source]: stampOf(fs, source) }, outputs: {} }
    put(`${programsFolder}/${name}.json`, JSON.stringify(record))
  }
  buildOutdated(root, process.execPath, process.env)
  expect(existsSync(join(root, 'scripts/ran'))).toBe(false)
  return { root, put, hasBuilt: () => existsSync(join(root, 'scripts/ran')) }
}

test.each(buildNames)('a changed source of %s is built before the mesh starts', (name) => {
  const { root, put, hasBuilt } = aCheckout()
  put(`packages/${name}.ts`, `${name}, changed`)
  buildOutdated(root, process.execPath, process.env)
  expect(hasBuilt()).toBe(true)
})

test('an installed package, which has no build script, builds nothing', () => {
  const { root, put, hasBuilt } = aCheckout()
  rmSync(join(root, 'scripts/build-programs.ts'))
  put('packages/mesh.ts', 'mesh, changed')
  buildOutdated(root, process.execPath, process.env)
  expect(hasBuilt()).toBe(false)
})

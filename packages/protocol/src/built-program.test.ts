import * as fs from 'node:fs'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { builtProgram, programsFolder, stampOf } from './built-program.ts'

/** A checkout with one source and a build of it. */
function aCheckout() {
  const root = mkdtempSync(join(tmpdir(), 'checkout-'))
  const source = join(root, 'source.ts')
  const module = join(root, programsFolder, 'built.mjs')
  mkdirSync(join(root, programsFolder), { recursive: true })
  writeFileSync(source, 'export const answer = 42')
  writeFileSync(module, 'export const answer = 42')
  const write = (record: object) =>
    writeFileSync(join(root, programsFolder, 'mesh.json'), JSON.stringify(record))
  write({ root, module, inputs: { [source]: stampOf(fs, source) } })
  return { root, source, module, write }
}

describe('a program is loaded as it was built', () => {
  test('where its sources are those of the build', () => {
    const { root, module } = aCheckout()
    expect(builtProgram(fs, root, 'mesh')).toBe(module)
    expect(builtProgram(fs, root, 'cli')).toBeNull()
  })

  test('and never after a source was written again, even with the same length or the same time', () => {
    const { root, source } = aCheckout()
    const [, modifiedMs] = stampOf(fs, source) ?? [0, 0]
    writeFileSync(source, 'export const answer = 43')
    utimesSync(source, modifiedMs / 1000 + 1, modifiedMs / 1000 + 1)
    expect(builtProgram(fs, root, 'mesh')).toBeNull()

    const other = aCheckout()
    const [, before] = stampOf(fs, other.source) ?? [0, 0]
    writeFileSync(other.source, 'export const answer = 4711')
    utimesSync(other.source, before / 1000, before / 1000)
    expect(builtProgram(fs, other.root, 'mesh')).toBeNull()
  })

  test('nor where a source or the file is gone, or the build was made for a checkout elsewhere', () => {
    const gone = aCheckout()
    rmSync(gone.source)
    expect(builtProgram(fs, gone.root, 'mesh')).toBeNull()

    const lost = aCheckout()
    rmSync(lost.module)
    expect(builtProgram(fs, lost.root, 'mesh')).toBeNull()

    const moved = aCheckout()
    moved.write({ root: '/elsewhere', module: moved.module, inputs: {} })
    expect(builtProgram(fs, moved.root, 'mesh')).toBeNull()
  })

  test('nor where its record is no whole one', () => {
    const { root } = aCheckout()
    writeFileSync(join(root, programsFolder, 'mesh.json'), '{"root": ')
    expect(builtProgram(fs, root, 'mesh')).toBeNull()
  })
})

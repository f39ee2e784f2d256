import * as fs from 'node:fs'
import { mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { builtProgram, packageFolder, programFile, programsFolder, stampOf } from './built-program.mjs'

/** A checkout with one source and a build of it. */
function aCheckout() {
  const root = mkdtempSync(join(tmpdir(), 'checkout-'))
  const source = join(root, 'source.ts')
  const main = join(root, programsFolder, 'mesh-1', 'main.mjs')
  mkdirSync(join(root, programsFolder, 'mesh-1'), { recursive: true })
  writeFileSync(source, 'export const answer = 42')
  writeFileSync(main, 'export const answer = 42')
  const record = {
    root,
    main,
    inputs: { [source]: stampOf(fs, source) },
    outputs: { [main]: stampOf(fs, main) },
  }
  writeFileSync(join(root, programsFolder, 'mesh.json'), JSON.stringify(record))
  return { root, source, main }
}

describe('a program is started as it was built', () => {
  test('an installed package starts its programs as it was packed; a checkout never uses what it has packed', () => {
    const root = mkdtempSync(join(tmpdir(), 'installed-'))
    const packed = join(root, packageFolder, 'cli', 'main.mjs')
    mkdirSync(join(root, packageFolder, 'cli'), { recursive: true })
    writeFileSync(packed, 'export const answer = 42')
    expect(programFile(fs, root, 'cli')).toBe(packed)
    expect(builtProgram(fs, root, 'dashboard')).toBeNull()

    mkdirSync(join(root, 'packages', 'cli', 'src'), { recursive: true })
    writeFileSync(join(root, 'packages', 'cli', 'src', 'main.ts'), '')
    expect(programFile(fs, root, 'cli')).toBe(`${root}/packages/cli/src/main.ts`)
  })

  test('a program starts as it was built from its sources, and from the sources without a build', () => {
    const { root, main } = aCheckout()
    expect(programFile(fs, root, 'mesh')).toBe(main)
    expect(programFile(fs, root, 'cli')).toBe(`${root}/packages/cli/src/main.ts`)
  })

  test('a program is never started from a build after a source was written again, even with the same length or the same time', () => {
    const { root, source } = aCheckout()
    const [, modifiedMs] = stampOf(fs, source) ?? [0, 0]
    writeFileSync(source, 'export const answer = 43')
    utimesSync(source, modifiedMs / 1000 + 1, modifiedMs / 1000 + 1)
    expect(programFile(fs, root, 'mesh')).toBe(`${root}/packages/mesh/src/main.ts`)

    const other = aCheckout()
    const [, before] = stampOf(fs, other.source) ?? [0, 0]
    writeFileSync(other.source, 'export const answer = 4711')
    utimesSync(other.source, before / 1000, before / 1000)
    expect(builtProgram(fs, other.root, 'mesh')).toBeNull()
  })

  test('a program is not started from a build if a source is gone, or a file of the build is gone or cut off', () => {
    const gone = aCheckout()
    rmSync(gone.source)
    expect(builtProgram(fs, gone.root, 'mesh')).toBeNull()

    const lost = aCheckout()
    rmSync(lost.main)
    expect(builtProgram(fs, lost.root, 'mesh')).toBeNull()

    const cut = aCheckout()
    writeFileSync(cut.main, '')
    expect(builtProgram(fs, cut.root, 'mesh')).toBeNull()
  })

  test('a program is not started from a build in a copy of the checkout, or after a move: the files contain the first paths', () => {
    const first = aCheckout()
    const copy = mkdtempSync(join(tmpdir(), 'copy-'))
    fs.cpSync(first.root, copy, { recursive: true, preserveTimestamps: true })
    expect(builtProgram(fs, copy, 'mesh')).toBeNull()
    expect(builtProgram(fs, first.root, 'mesh')).toBe(first.main)

    const moved = `${first.root}-moved`
    renameSync(first.root, moved)
    expect(builtProgram(fs, moved, 'mesh')).toBeNull()
  })

  test('a program is not started from a build whose record is incomplete', () => {
    const { root } = aCheckout()
    writeFileSync(join(root, programsFolder, 'mesh.json'), '{"root": ')
    expect(builtProgram(fs, root, 'mesh')).toBeNull()
  })
})

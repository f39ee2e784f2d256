import * as fs from 'node:fs'
import { join } from 'node:path'
import { builtProgram } from '../packages/protocol/src/built-program.ts'
import type { ProgramName } from '../packages/protocol/src/built-program.ts'

/**
 * Joins each program of ours into few files, unless that was done of just these sources. `bootstrap.mjs` runs it after
 * an installation and for each new commit. Where it cannot be done the programs run from their sources, only slower.
 */
const root = join(import.meta.dirname, '..')
const names: readonly ProgramName[] = ['mesh', 'cli']
const stale = names.filter((name) => builtProgram(fs, root, name) === null)
try {
  if (stale.length > 0) {
    console.error('Building the programs (after a change of their sources; some seconds) ...')
    const { buildProgram } = await import('./built-programs/build-program.ts')
    await Promise.all(stale.map((name) => buildProgram(root, name)))
  }
} catch (error) {
  process.exitCode = 1
  console.error('The programs could not be built and run from their sources, which is slower:', error)
}

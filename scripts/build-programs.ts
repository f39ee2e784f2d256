import * as fs from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { builtProgram, programsFolder } from '@flotilla/protocol/built-program'
import type { ProgramName } from '@flotilla/protocol/built-program'
import { compiledModulesFolder } from '@flotilla/protocol/compiled-modules'

/**
 * Joins each program of ours into few files, unless that was done of just these sources. `bootstrap.mjs` runs it where
 * they are others. What cannot be built runs from its sources, only slower.
 */
const root = join(import.meta.dirname, '..')
const names: readonly ProgramName[] = ['mesh', 'cli']
const stale = names.filter((name) => builtProgram(fs, root, name) === null)
try {
  if (stale.length > 0) {
    console.error('Building the programs, since their sources are new (some seconds) ...')
    const { buildProgram } = await import('./built-programs/build-program.ts')
    const { forgetOldBuilds } = await import('./built-programs/forget-old-builds.ts')
    await Promise.all(stale.map((name) => buildProgram(root, name)))
    const compiled = compiledModulesFolder(process.env['XDG_CACHE_HOME'], homedir())
    forgetOldBuilds(join(root, programsFolder), { compiled, nowMs: Date.now() })
  }
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error)
  console.error(`The programs were not built and run from their sources, which is slower: ${reason}`)
}

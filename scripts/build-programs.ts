import * as fs from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { buildNames, builtProgram, programsFolder } from '@flotilla/protocol/built-program'
import type { BuildName } from '@flotilla/protocol/built-program'
import { compiledModulesFolder } from '@flotilla/protocol/compiled-modules'

/**
 * Bundles each program of this project into few files and compiles the pages that the mesh serves, unless the same
 * sources were built before. `bootstrap.mjs` runs it when sources changed. A program that cannot be built runs from
 * its sources, more slowly; pages that cannot be built are replaced by a message.
 */
const root = join(import.meta.dirname, '..')
const stale = buildNames.filter((name) => builtProgram(fs, root, name) === null)
if (stale.length > 0) {
  console.error(`Building ${stale.join(', ')}, since their sources are new (some seconds) ...`)
  const ends = await Promise.allSettled(stale.map(buildOne))
  for (const [index, end] of ends.entries()) {
    if (end.status === 'fulfilled') continue
    const reason = end.reason instanceof Error ? end.reason.message : String(end.reason)
    const name = stale[index]
    const instead = name === 'dashboard' ? 'there are no pages' : 'it runs from its sources, which is slower'
    console.error(`${name} was not built, so ${instead}: ${reason}`)
  }
  const { forgetOldBuilds } = await import('./built-programs/forget-old-builds.ts')
  const compiled = compiledModulesFolder(process.env['XDG_CACHE_HOME'], homedir())
  forgetOldBuilds(join(root, programsFolder), { compiled, nowMs: Date.now() })
}

async function buildOne(name: BuildName): Promise<unknown> {
  if (name === 'dashboard') {
    const { buildDashboard } = await import('./built-programs/build-dashboard.ts')
    return buildDashboard(root)
  }
  if (name === 'agent') {
    const { buildAgent } = await import('./built-programs/build-agent.ts')
    return buildAgent(root)
  }
  const { buildProgram } = await import('./built-programs/build-program.ts')
  return buildProgram(root, name)
}

import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { cachesFolder, compiledModulesFolder } from '@flotilla/protocol/compiled-modules'
import { Problem } from '@flotilla/protocol/problem'
import { dataPaths, homeIdPath, isRestoreUnfinished, lockHome, readTextFile } from '../../config/index.ts'
import type { DataPaths } from '../../config/index.ts'
import { systemClock } from '../../platform/index.ts'
import { unusedCaches, unusedInHome } from '../../pruning/index.ts'
import type { UnusedThing } from '../../pruning/index.ts'
import { npmVersion, unusedInEngine } from '../../sandbox/index.ts'
import { openDatabase } from '../../storage/index.ts'
import type { Database } from '../../storage/index.ts'
import type { CommandContext } from './command-context.ts'

/**
 * Tells what of this home, and of what this user's programs keep, nobody uses; with `apply` it takes that away. An agent
 * that is in the database, put away or not, loses nothing, and neither does another home. A mesh may run meanwhile: what
 * came into use since it was found stays.
 */
export async function prune(context: CommandContext): Promise<number> {
  const paths = dataPaths(context.environment.home)
  // A cut that lies there is left over only while nobody makes a backup.
  const one = await lockHome(`${paths.home}\0backup`, { pid: context.pid, deed: 'backing-up' })
  const agents = openAgents(paths)
  try {
    if (await isRestoreUnfinished(paths)) {
      throw new Problem('conflict', {
        detail: `${paths.home} is half restored, so nobody knows what its agents need`,
        repair: 'Restore it again, then prune.',
      })
    }
    context.tell({ progress: 'Looking for what nobody uses' })
    const found = await allUnused(context, { paths, agents })
    const told: Record<string, unknown>[] = []
    for (const thing of found.things) {
      const { kind, name, why, bytes } = thing
      if (context.apply === true) context.tell({ progress: `Taking away ${name}` })
      const gone = context.apply === true && (await thing.remove())
      told.push({ kind, name, why, bytes, gone })
    }
    const counted = told.filter(({ gone }) => gone === true || context.apply !== true)
    const bytes = counted.reduce((sum, thing) => sum + (Number(thing['bytes']) || 0), 0)
    context.tell({ pruned: context.apply === true, things: told, bytes, engine: found.engine })
    return 0
  } finally {
    agents?.close()
    await one.release()
  }
}

async function allUnused(
  { environment, env, uid }: CommandContext,
  { paths, agents }: { readonly paths: DataPaths; readonly agents: Agents | null },
): Promise<{ readonly things: readonly UnusedThing[]; readonly engine: boolean }> {
  const caches = cachesFolder(env['XDG_CACHE_HOME'], homedir())
  const images = join(caches, 'flotilla', 'images')
  const now = systemClock.now()
  // A home that was never started has no agents, and nothing of it can be told from what is another's.
  const homeId = agents === null ? null : ((await readTextFile(homeIdPath(paths)))?.trim() ?? null)
  const isAgent = (agentId: string) => agents?.has(agentId) ?? true
  const inEngine = await unusedInEngine({
    hints: { uid, engineSocket: environment.engineSocket ?? undefined, dockerHost: env['DOCKER_HOST'] },
    homeId: homeId === '' ? null : homeId,
    isAgent,
    cacheDirectory: images,
    now,
  })
  const things = [
    ...(inEngine ?? []),
    ...(agents === null ? [] : await unusedInHome(paths, isAgent)),
    ...(await unusedCaches({
      compiled: compiledModulesFolder(env['XDG_CACHE_HOME'], homedir()),
      images,
      partsInUse: [`node-${process.versions.node}-stripped`, `npm-${npmVersion}.tgz`],
      now,
    })),
  ]
  return { things, engine: inEngine !== null }
}

interface Agents {
  has(agentId: string): boolean
  close(): void
}

/** As the database has them at the moment of the question; null for a home that was never started. */
function openAgents(paths: DataPaths): Agents | null {
  if (!existsSync(paths.database)) return null
  const database: Database = openDatabase(paths.database)
  const hasTable = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'agents'").get() !== undefined
  if (!hasTable) {
    // Of a first start that failed.
    database.close()
    return null
  }
  const row = database.prepare('SELECT 1 FROM agents WHERE id = ?')
  return { has: (agentId) => row.get(agentId) !== undefined, close: () => database.close() }
}

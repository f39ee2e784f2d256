import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { cachesFolder, compiledModulesFolder } from '@flotilla/protocol/compiled-modules'
import { Problem } from '@flotilla/protocol/problem'
import {
  dataPaths,
  homeIdPath,
  isRestoreUnfinished,
  lockHome,
  readTextFile,
} from '@flotilla/foundation/config'
import type { DataPaths } from '@flotilla/foundation/config'
import { systemClock } from '@flotilla/foundation/platform'
import { unusedCaches, unusedInHome } from '@flotilla/operations/pruning'
import type { UnusedThing } from '@flotilla/operations/pruning'
import { lostHomes, npmVersion, unusedInEngine } from '@flotilla/fleet/sandbox/docker'
import type { LostHome } from '@flotilla/fleet/sandbox/docker'
import { openDatabase } from '@flotilla/foundation/storage'
import type { Database } from '@flotilla/foundation/storage'
import type { CommandContext } from './command-context.ts'

/**
 * Lists unused data in this home and in this user's caches; with `apply`, deletes it. Agents in the database,
 * archived or not, and other homes lose nothing. A mesh may run at the same time: data that is used again is kept.
 */
export async function prune(context: CommandContext): Promise<number> {
  if (context.lost !== undefined) return pruneLost(context, context.lost)
  const paths = dataPaths(context.environment.home)
  // The lock keeps other backups away, so that every unfinished backup is certainly unused.
  const one = await lockHome(`${paths.home}\0backup`, { pid: context.pid, deed: 'backing-up' })
  const agents = openAgents(paths)
  try {
    if (await isRestoreUnfinished(paths)) {
      throw new Problem('conflict', {
        detail: `${paths.home} is only partly restored, so it is unknown what its agents need`,
        repair: 'Run flotilla restore FILE for this home again, then flotilla prune.',
      })
    }
    context.print({ progress: 'Searching for unused files' })
    const found = await allUnused(context, { paths, agents })
    const reports: Record<string, unknown>[] = []
    for (const thing of found.things) {
      const { kind, name, why, bytes } = thing
      if (context.apply === true) context.print({ progress: `Deleting ${name}` })
      const gone = context.apply === true && (await thing.remove())
      reports.push({ kind, name, why, bytes, gone })
    }
    const counted = reports.filter(({ gone }) => gone === true || context.apply !== true)
    const bytes = counted.reduce((sum, thing) => sum + (Number(thing['bytes']) || 0), 0)
    const lost = (await lostHomes(await queryOf(context))) ?? []
    context.print({
      pruned: context.apply === true,
      things: reports,
      bytes,
      engine: found.engine,
      lost: lost.map(lostHomeView),
    })
    return 0
  } finally {
    agents?.close()
    await one.release()
  }
}

/**
 * Lists what homes that no longer exist have in the engine under these tags; with `apply`, deletes it. Problems
 * `not-found` for a tag without resources or whose home exists; `conflict` if containers run whose home may exist.
 */
async function pruneLost(context: CommandContext, tags: readonly string[]): Promise<number> {
  context.print({ progress: 'Searching for leftovers of other homes' })
  const found = await lostHomes(await queryOf(context))
  if (found === null) {
    throw new Problem('not-configured', {
      detail: 'no container engine answers, so nothing can be deleted',
      repair:
        'Start the container engine, then repeat the command; flotilla doctor names the engine that Flotilla uses.',
    })
  }
  const requested = tags.map((tag) => {
    const home = found.find((one) => one.tag === tag)
    if (home !== undefined) return home
    throw new Problem('not-found', {
      detail: `no home that is gone has left resources with the tag ${tag}`,
      repair:
        'flotilla prune --dry-run lists the tags. To remove a home that still exists: flotilla reset --home HOME.',
    })
  })
  const working = requested.find(({ place, running }) => place === null && running > 0)
  if (working !== undefined) {
    throw new Problem('conflict', {
      detail: `${working.running} containers with the tag ${working.tag} are running; they belong to no known home of yours on this machine, possibly to another user`,
      repair: `List the containers with docker ps --filter label=flotilla.home=${working.tag}, stop them, then repeat the command.`,
    })
  }
  for (const home of requested) {
    if (context.apply !== true) continue
    context.print({ progress: `Deleting the leftovers of ${home.tag}` })
    await home.erase()
  }
  context.print({ pruned: context.apply === true, lost: requested.map(lostHomeView) })
  return 0
}

function lostHomeView({ tag, place, networks, containers, running, volumes }: LostHome) {
  return { tag, place, networks, containers, running, volumes }
}

/** Returns the query for resources of this user in the engine. */
export async function queryOf({ environment, env, uid }: CommandContext) {
  const homeId = (await readTextFile(homeIdPath(dataPaths(environment.home))))?.trim() ?? ''
  return {
    hints: { uid, engineSocket: environment.engineSocket ?? undefined, dockerHost: env['DOCKER_HOST'] },
    homeId: homeId === '' ? null : homeId,
    cacheDirectory: join(cachesFolder(env['XDG_CACHE_HOME'], homedir()), 'flotilla', 'images'),
  }
}

async function allUnused(
  context: CommandContext,
  { paths, agents }: { readonly paths: DataPaths; readonly agents: Agents | null },
): Promise<{ readonly things: readonly UnusedThing[]; readonly engine: boolean }> {
  const { env } = context
  const now = systemClock.now()
  const query = await queryOf(context)
  const images = query.cacheDirectory
  const isAgent = (agentId: string) => agents?.has(agentId) ?? true
  // A home that was never started has no id to distinguish its resources from those of other homes.
  const homeId = agents === null ? null : query.homeId
  const inEngine = await unusedInEngine({ ...query, homeId, isAgent, now })
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

/** Opens the agents in the database, read at each question; null for a home that was never started. */
function openAgents(paths: DataPaths): Agents | null {
  if (!existsSync(paths.database)) return null
  const database: Database = openDatabase(paths.database)
  const hasTable = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'agents'").get() !== undefined
  if (!hasTable) {
    // A first start failed and left a database without tables.
    database.close()
    return null
  }
  const row = database.prepare('SELECT 1 FROM agents WHERE id = ?')
  return { has: (agentId) => row.get(agentId) !== undefined, close: () => database.close() }
}

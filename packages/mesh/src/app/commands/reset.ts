import { readdir, rm, rmdir } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { notedCluster, refuseElsewhere } from '../choose-cluster.ts'
import { chooseRuntime } from '../choose-runtime.ts'
import { requireNoMesh } from '../hold-ledger.ts'
import { dataPaths, homeIdPath, lockHome, openHomeFolder, readTextFile } from '../../config/index.ts'
import type { DataPaths } from '../../config/index.ts'
import { createLog, openCommandOutput } from '../../platform/index.ts'
import type { CommandContext } from './command-context.ts'

/**
 * Deletes a home and everything it has in the engine: sandboxes, data, network, rules. The mesh must not run. Only
 * what is ours goes: a folder with other things in it stays, and one that never was a home is refused (`conflict`).
 */
export async function reset(context: CommandContext): Promise<number> {
  const paths = dataPaths(context.environment.home)
  const lock = await lockHome(paths.home, { pid: context.pid, deed: 'removing' })
  try {
    const found = await entriesOf(paths.home)
    if (found !== null) await removeHome(context, paths, found)
    context.tell({ reset: true, home: paths.home })
    return 0
  } finally {
    await lock.release()
  }
}

async function removeHome(
  context: CommandContext,
  paths: DataPaths,
  found: readonly string[],
): Promise<void> {
  const ours = ownNames(paths)
  const foreign = found.filter((name) => !ours.includes(name))
  if (foreign.length > 0 && (await readTextFile(homeIdPath(paths))) === null) {
    throw new Problem('conflict', {
      detail: `${paths.home} is not a home of Flotilla; it holds ${foreign.slice(0, 3).join(', ')}, and nothing was removed`,
    })
  }
  // Nothing would name what is left in the cluster, and no lease of it would have been looked at.
  refuseElsewhere(context.environment, notedCluster(paths.clusterFile))
  const { homeId } = await openHomeFolder(paths)
  await requireNoMesh({ context, homeId, paths })
  const progress = (step: string) => context.tell({ progress: step })
  const log = createLog(context.environment.logLevel, openCommandOutput(context.pid))
  // Whatever runs agents now, plain processes of an earlier mesh may be left.
  for (const runtime of new Set(['process', context.environment.runtime] as const)) {
    const environment = { ...context.environment, runtime }
    const adapter = chooseRuntime({ context: { ...context, environment }, homeId, paths, log })
    try {
      await adapter.erase({ progress, signal: context.stopped })
    } finally {
      await adapter.close()
    }
  }
  for (const name of ours) await rm(`${paths.home}${sep}${name}`, { recursive: true, force: true })
  // What else is in it, or a file system that is mounted there, keeps the folder itself.
  await rmdir(paths.home).catch(() =>
    progress(`The folder ${paths.home} stays; nothing of ours is in it any more`),
  )
}

async function entriesOf(folder: string): Promise<readonly string[] | null> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

/** First parts of every path below a home. */
function ownNames(paths: DataPaths): readonly string[] {
  const below = Object.values(paths).map((path: string) => relative(paths.home, path))
  return [...new Set(below.map((path) => path.split(sep)[0] ?? ''))].filter((name) => name !== '')
}

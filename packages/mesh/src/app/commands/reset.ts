import { readdir, rmdir } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { notedCluster, refuseElsewhere } from '../choose-cluster.ts'
import { eraseAgents } from '../choose-runtime.ts'
import { requireNoMesh } from '../hold-ledger.ts'
import { dataPaths, homeIdPath, lockHome, openHomeFolder, readTextFile } from '@flotilla/foundation/config'
import type { DataPaths } from '@flotilla/foundation/config'
import { removeTree } from '@flotilla/foundation/platform'
import { commandLog } from './command-context.ts'
import type { CommandContext } from './command-context.ts'

/**
 * Deletes a home and everything that it has in the engine: sandboxes, data, network, rules. The mesh must not run.
 * Only Flotilla's own files are deleted: a folder with other files is kept, and a folder that was never a home is
 * refused (`conflict`).
 */
export async function reset(context: CommandContext): Promise<number> {
  const paths = dataPaths(context.environment.home)
  const lock = await lockHome(paths.home, { pid: context.pid, deed: 'removing' })
  try {
    const found = await entriesOf(paths.home)
    if (found !== null) await removeHome(context, paths, found)
    context.print({ reset: true, home: paths.home })
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
      detail: `${paths.home} is not the home of a fleet: it contains ${foreign.slice(0, 3).join(', ')}; nothing was removed`,
    })
  }
  // Checked first: without the home's record, nothing would name what is in the cluster, nor check its lease.
  refuseElsewhere(context.environment, notedCluster(paths.clusterFile))
  const { homeId } = await openHomeFolder(paths)
  await requireNoMesh({ context, homeId, paths })
  const progress = (step: string) => context.print({ progress: step })
  await eraseAgents({ context, homeId, paths, log: commandLog(context) }, progress)
  for (const name of ours) await removeTree(`${paths.home}${sep}${name}`)
  // The folder cannot be removed if it contains other files or is a mount point; then it is kept.
  await rmdir(paths.home).catch(() =>
    progress(
      `The folder ${paths.home} is kept, because it contains other files; the files of Flotilla are removed`,
    ),
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

/** Returns the names of the files and folders directly in a home that belong to Flotilla. */
function ownNames(paths: DataPaths): readonly string[] {
  const below = Object.values(paths).map((path: string) => relative(paths.home, path))
  return [...new Set(below.map((path) => path.split(sep)[0] ?? ''))].filter((name) => name !== '')
}

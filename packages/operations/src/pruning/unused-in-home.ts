import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { DataPaths } from '@flotilla/foundation/config'
import { removeTree } from '@flotilla/foundation/platform'
import { listVolumes, profileVolumesFolder } from '@flotilla/fleet/sandbox/docker'
import { dataFolderAgents } from '@flotilla/fleet/sandbox/process'
import { snapshotsBeside } from '@flotilla/foundation/storage'
import { countBytes } from './count-bytes.ts'
import type { UnusedThing } from './unused-thing.ts'

/** Left behind by a killed backup. */
const cutName = /^backup-/

/**
 * Files in a home that no agent uses. `isAgent` says whether an agent exists, running, stopped or archived. The
 * caller holds the backup lock, so an unfinished backup cannot belong to a running one.
 */
export async function unusedInHome(
  paths: DataPaths,
  isAgent: (agentId: string) => boolean,
): Promise<readonly UnusedThing[]> {
  const found: UnusedThing[] = []
  const add = async (
    path: string,
    { kind, why, agentId }: Pick<UnusedThing, 'kind' | 'why'> & { readonly agentId?: string },
  ) => {
    const counted = await countBytes(path)
    if (counted === null) return
    const remove = async () => {
      // An agent of this name was created since the search.
      if (agentId !== undefined && isAgent(agentId)) return false
      await removeTree(path)
      return true
    }
    found.push({ kind, name: path, why, bytes: counted.bytes, remove })
  }
  const gone = { kind: 'agent data', why: 'its agent was deleted' } as const
  for (const { agentId, path, isAlive } of await dataFolderAgents(paths.agentsFolder)) {
    if (!isAlive && !isAgent(agentId)) await add(path, { ...gone, agentId })
  }
  for (const folder of [paths.volumesFolder, profileVolumesFolder(paths.volumesFolder)]) {
    for (const { agentId, path } of await listVolumes(folder)) {
      if (!isAgent(agentId)) await add(path, { ...gone, agentId })
    }
  }
  // The newest snapshot is needed to roll back the last upgrade.
  for (const path of snapshotsBeside(paths.database).slice(0, -1))
    await add(path, { kind: 'snapshot', why: 'a later upgrade made a newer one' })
  for (const name of await readdir(paths.runtimeFolder).catch(() => [])) {
    if (cutName.test(name))
      await add(join(paths.runtimeFolder, name), {
        kind: 'snapshot',
        why: 'the backup that wrote it was interrupted',
      })
  }
  for (const folder of [paths.dataFolder, paths.logsFolder])
    await add(join(folder, `${basename(paths.logFile)}.1`), {
      kind: 'log',
      why: 'a newer log replaced it',
    })
  return found
}

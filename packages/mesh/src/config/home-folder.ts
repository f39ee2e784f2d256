import { randomUUID } from 'node:crypto'
import { chmod, mkdir } from 'node:fs/promises'
import { readTextFile, writeFileAtomically } from './atomic-file.ts'
import { join } from 'node:path'
import type { DataPaths } from './data-paths.ts'

export interface HomeFolder {
  /** Names this home in the engine, wherever its folder is moved. */
  readonly homeId: string
  /** True when nothing was there before: only then may defaults be written. */
  readonly fresh: boolean
}

/** Makes the home's folders, for the owner alone, and gives the home its id at the first time. */
export async function openHomeFolder(paths: DataPaths): Promise<HomeFolder> {
  const folders = [paths.home, paths.configFolder, paths.dataFolder, paths.artifactsFolder, paths.briefsFolder, paths.agentsFolder, paths.logsFolder, paths.runtimeFolder]
  for (const folder of folders) await mkdir(folder, { recursive: true, mode: 0o700 })
  // Read by UID 1000 through a bind mount, so the way there must be passable; its content is no secret.
  await chmod(paths.briefsFolder, 0o755)
  const idFile = join(paths.dataFolder, 'home-id')
  const known = (await readTextFile(idFile))?.trim()
  if (known) return { homeId: known, fresh: false }
  const homeId = randomUUID()
  await writeFileAtomically(idFile, `${homeId}\n`, 0o600)
  return { homeId, fresh: true }
}

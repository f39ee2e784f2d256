import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { homeFault, makeHome } from '@flotilla/protocol/home-folder'
import { readTextFile, writeFileAtomically } from './atomic-file.ts'
import { join } from 'node:path'
import type { DataPaths } from './data-paths.ts'

export interface HomeFolder {
  /** Identifies this home in the container engine, even after its folder was moved. */
  readonly homeId: string
  /** True if the home was empty before: only then may defaults be written. */
  readonly fresh: boolean
}

/**
 * Creates the home's folders, and its id at the first start. Everything below the home becomes private to the owner,
 * also existing folders; the home itself may be a shared folder. Throws the Problem `home-unusable` with the obstacle.
 */
export async function openHomeFolder(paths: DataPaths): Promise<HomeFolder> {
  makeHome(fs, paths.home)
  return openFolders(paths).catch((error: unknown) => {
    throw homeFault(paths.home, error)
  })
}

async function openFolders(paths: DataPaths): Promise<HomeFolder> {
  const closed = [
    paths.configFolder,
    paths.dataFolder,
    paths.artifactsFolder,
    paths.agentsFolder,
    paths.volumesFolder,
    paths.logsFolder,
    paths.runtimeFolder,
  ]
  for (const folder of [...closed, paths.briefsFolder]) await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const folder of closed) await chmod(folder, 0o700)
  // Each agent's subfolder is mounted into its container, and contains agent tokens for a short time. Other users of
  // the machine have no access, because the data folder above is private.
  await chmod(paths.briefsFolder, 0o755)
  const known = (await readTextFile(homeIdPath(paths)))?.trim()
  if (known) return { homeId: known, fresh: false }
  const homeId = randomUUID()
  await writeFileAtomically(homeIdPath(paths), `${homeId}\n`, 0o600)
  return { homeId, fresh: true }
}

/** The file with the home's id; a folder without it was never a home. */
export function homeIdPath(paths: DataPaths): string {
  return join(paths.dataFolder, 'home-id')
}

import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { chmod, mkdir, realpath } from 'node:fs/promises'
import { Problem } from '@flotilla/protocol/problem'
import { homeFault, makeHome } from '@flotilla/protocol/home-folder'
import { readTextFile, writeFileAtomically } from './atomic-file.ts'
import { join } from 'node:path'
import type { DataPaths } from './data-paths.ts'
import { missingMount } from './missing-mount.ts'

export interface HomeFolder {
  /** Identifies this home in the container engine, even after its folder was moved. */
  readonly homeId: string
  /** True if the home was empty before: only then may defaults be written. */
  readonly fresh: boolean
}

/**
 * Creates the home's folders, and its id at the first start. Everything below the home becomes private to the owner,
 * also existing folders; the home itself may be a shared folder. Throws the Problem `home-unusable` with the obstacle,
 * also for a new home in a mount point whose file system is not mounted: most likely the fleet is on that file system.
 */
export async function openHomeFolder(paths: DataPaths, tables = readMountTables): Promise<HomeFolder> {
  await requireMounted(paths, tables)
  makeHome(fs, paths.home)
  return openFolders(paths).catch((error: unknown) => {
    throw homeFault(paths.home, error)
  })
}

/** Reads what the machine plans to mount and has mounted; empty texts where there are no such tables. */
async function readMountTables() {
  const [planned, mounted] = await Promise.all(
    ['/etc/fstab', '/proc/self/mountinfo'].map((path) => readTextFile(path).catch(() => null)),
  )
  return mounted == null ? { planned: '', mounted: '' } : { planned: planned ?? '', mounted }
}

async function requireMounted(paths: DataPaths, tables: typeof readMountTables): Promise<void> {
  const known = await readTextFile(homeIdPath(paths)).catch(() => null)
  if (known != null && known.trim() !== '') return
  const folder = await realpath(paths.home).catch(() => paths.home)
  const point = missingMount(folder, await tables())
  if (point === null) return
  throw new Problem('home-unusable', {
    detail: `${point} is a mount point in /etc/fstab and nothing is mounted there, so a start would begin a new fleet in the empty folder`,
    repair: `Mount it (mount ${point}) and start again. If the fleet is to be in the folder itself, remove the line from /etc/fstab.`,
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

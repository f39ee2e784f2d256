import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join } from 'node:path'
import type { DataPaths } from '@flotilla/foundation/config'

const cutPrefix = 'backup-'
/** The file in the snapshot's folder that contains the path of the backup file being written. */
const noteName = 'writes'

/** The temporary files of a backup until it gets its name. */
export interface PartialBackup {
  /** The folder of the snapshot; removed at the end. */
  readonly folder: string
  /** A temporary file in the same folder as the final one. */
  readonly path: string
  /** Removes both. */
  remove(): Promise<void>
}

/** Creates the temporary files of a backup. If this backup is killed, the home's next backup removes them. */
export async function openPartial(paths: DataPaths, file: string, pid: number): Promise<PartialBackup> {
  await mkdir(paths.runtimeFolder, { recursive: true, mode: 0o700 })
  const folder = await mkdtemp(join(paths.runtimeFolder, cutPrefix))
  const path = join(dirname(file), `.${basename(file)}.${pid}.partial`)
  const remove = async (): Promise<void> => {
    // A disk that became read-only keeps the file; the snapshot is removed all the same.
    await rm(path, { force: true }).catch(() => {})
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await writeFile(join(folder, noteName), path, { mode: 0o600 })
    return { folder, path, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Removes the files of a killed backup of this home. The caller ensures that no other backup is running. */
export async function sweepPartials(paths: DataPaths): Promise<void> {
  for (const name of await readdir(paths.runtimeFolder).catch(() => [])) {
    if (!name.startsWith(cutPrefix)) continue
    const folder = join(paths.runtimeFolder, name)
    const path = await readFile(join(folder, noteName), 'utf8').catch(() => '')
    // If the disk of the backup file is not mounted, the partial file remains on that disk.
    if (isAbsolute(path) && /^\..+\.\d+\.partial$/.test(basename(path)))
      await rm(path, { force: true }).catch(() => {})
    await rm(folder, { recursive: true, force: true })
  }
}

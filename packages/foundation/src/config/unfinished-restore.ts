import { access, readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { removeTree } from '../platform/index.ts'
import type { DataPaths } from './data-paths.ts'

/** Whether a restore into this home was interrupted; then the home is incomplete, and all of it may be deleted. */
export async function isRestoreUnfinished(paths: DataPaths): Promise<boolean> {
  return access(paths.restoreMark).then(
    () => true,
    () => false,
  )
}

/** Deletes the files of an interrupted restore, its mark last. */
export async function wipeUnfinishedRestore(paths: DataPaths): Promise<void> {
  const below = Object.values(paths).map((path: string) => relative(paths.home, path).split(sep)[0] ?? '')
  for (const name of new Set(below)) {
    if (name === '' || join(paths.home, name) === paths.dataFolder) continue
    await removeTree(join(paths.home, name))
  }
  for (const name of await readdir(paths.dataFolder)) {
    if (join(paths.dataFolder, name) === paths.restoreMark) continue
    await removeTree(join(paths.dataFolder, name))
  }
  await removeTree(paths.dataFolder)
}

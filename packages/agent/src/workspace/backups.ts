import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { DataFiles } from '../files/data-files.ts'

/** Number of backups of each file; the oldest is deleted first. */
const backupsMax = 20
/** The maximum number of files in the folder that are listed, files of other programs included. */
const entriesMax = 2000
export const backupFolder = 'workspace/backups'

/**
 * Saves a content that is about to be replaced, as `SOUL.md.2030-05-10T12-00-00-000Z` in the workspace's `backups`.
 */
export async function keepBackup(
  deps: { files: DataFiles; clock: Clock },
  name: string,
  content: string,
): Promise<void> {
  const { files, clock } = deps
  const existing = await namesOf(files, name)
  const stamp = new Date(clock.now()).toISOString().replaceAll(/[:.]/g, '-')
  // Two changes in one millisecond make two backups.
  const same = existing.filter((known) => known.startsWith(`${name}.${stamp}`)).length
  const suffix = same === 0 ? '' : `-${same}`
  await files.write(`${backupFolder}/${name}.${stamp}${suffix}`, Buffer.from(content), { durable: true })
  for (const oldest of existing.toSorted().slice(0, -(backupsMax - 1))) {
    await files.remove(`${backupFolder}/${oldest}`)
  }
}

async function namesOf(files: DataFiles, name: string): Promise<readonly string[]> {
  try {
    const found = await files.list(backupFolder, { recursive: false, entriesMax })
    return found.map(({ path }) => path).filter((path) => path.startsWith(`${name}.`))
  } catch (error) {
    if (error instanceof Problem && error.code === 'not-found') return []
    throw error
  }
}

import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { DataPaths } from './data-paths.ts'

/** The names of temporary files of `writeFileAtomically`; earlier releases did not include the process id. */
const unfinished = /^\..+\.(?:(?<writer>\d{1,10})-)?[0-9a-f]{12}\.tmp$/
/** In folders that the owner's commands write to as well, recent files of a running process may still be renamed. */
const othersWriteMs = 60_000

/**
 * Removes temporary files of interrupted writes, and returns their number. Called with the home locked. In the
 * folders that agents read, such a file may contain an agent token, so even recent ones are removed there.
 */
export async function removeUnfinishedWrites(paths: DataPaths, now: number): Promise<number> {
  const briefs = await readdir(paths.briefsFolder, { withFileTypes: true })
  const ofAgents = briefs
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(paths.briefsFolder, name))
  const counts = [
    ...ofAgents.map((folder) => removeIn(folder, now)),
    ...[paths.home, paths.configFolder, paths.dataFolder, paths.runtimeFolder].map((folder) =>
      removeIn(folder, now - othersWriteMs),
    ),
  ]
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

async function removeIn(folder: string, writtenBefore: number): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true })
  let removed = 0
  for (const entry of entries) {
    const found = entry.isFile() ? unfinished.exec(entry.name) : null
    if (found === null) continue
    const path = join(folder, entry.name)
    const { mtimeMs } = await stat(path)
    if (mtimeMs > writtenBefore && mayLive(found.groups?.['writer'])) continue
    await rm(path, { force: true })
    removed++
  }
  return removed
}

function mayLive(writer: string | undefined): boolean {
  if (writer === undefined) return true
  try {
    process.kill(Number(writer), 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod/mini'
import type { DemoProject } from './demo-project.ts'
import { tarFile } from './tar-file.ts'
import type { TarEntry } from './tar-file.ts'

/** Larger files are not licences. */
const fileMaxBytes = 128 * 1024
/** The archive stays far below the size of a worker's volume. */
const archiveMaxBytes = 16 * 1024 * 1024

const lockSchema = z.looseObject({ packages: z.record(z.string(), z.unknown()) })

/** The real package.json and licence files of the installed packages, as one tar archive. */
export function packLicences(project: DemoProject): { bytes: Uint8Array<ArrayBuffer>; files: number } {
  const lock = lockSchema.parse(JSON.parse(readFileSync(project.lockFile, 'utf8')))
  const entries: TarEntry[] = []
  let total = 0
  for (const path of Object.keys(lock.packages).filter((key) => key.startsWith('node_modules/'))) {
    for (const name of licenceFiles(project.folderOf(path))) {
      const bytes = readFileSync(join(project.folderOf(path), name))
      total += bytes.length
      if (total > archiveMaxBytes)
        throw new Error('the licence files of this project do not fit into the archive')
      entries.push({ path: `licences/${path.slice('node_modules/'.length)}/${name}`, bytes })
    }
  }
  return { bytes: tarFile(entries), files: entries.length }
}

function licenceFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => {
      if (!/^(?:licen[cs]e|copying|notice|package\.json$)/i.test(name)) return false
      const file = statSync(join(folder, name))
      return file.isFile() && file.size <= fileMaxBytes
    })
  } catch {
    // An optional dependency of another platform is in the lock file but not on this disk.
    return []
  }
}

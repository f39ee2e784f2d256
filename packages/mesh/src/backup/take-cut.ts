import { constants, copyFileSync, linkSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import type { DataPaths } from '../config/index.ts'
import { copyDatabase } from '../storage/index.ts'
import type { BackupSecrets } from './entry-path.ts'
import { listHomeFiles } from './list-home-files.ts'
import type { HomeFile } from './list-home-files.ts'
import type { Skipped } from './skipped-entries.ts'

/** The retry limit: a fleet that writes constantly would otherwise repeat the snapshot forever. */
const triesMax = 20
/** Error codes of the file system if it cannot link a file into the snapshot's folder. */
const noLinkCodes: ReadonlySet<unknown> = new Set([
  'EXDEV',
  'EPERM',
  'EMLINK',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
])

export interface Cut {
  readonly database: string
  readonly files: readonly CutFile[]
  /** The home's other entries, which backups do not contain. */
  readonly skipped: Skipped
}

export interface CutFile {
  /** The path below the home, with slashes. */
  readonly path: string
  readonly mode: number
  /** The path of the snapshot's copy. */
  readonly source: string
}

/**
 * Takes a consistent snapshot of a home's database and files in `folder`, which is on the same file system.
 *
 * - C1 The mesh replaces its files atomically, so a hard link keeps the old content. The one file that grows, the
 *   anchors of the audit log, is copied, as are files on another file system.
 * - C2 The files are checked before the database snapshot is fixed and after they were linked; if one was replaced
 *   meanwhile, the snapshot is repeated. Problem `conflict` if that never succeeds.
 */
export async function takeCut(paths: DataPaths, folder: string, options: BackupSecrets): Promise<Cut> {
  const database = join(folder, 'mesh.db')
  for (let tries = 0; tries < triesMax; tries++) {
    const place = join(folder, `files-${tries}`)
    mkdirSync(place, { recursive: true, mode: 0o700 })
    const { files: before, skipped } = listHomeFiles(paths, options)
    let files: readonly CutFile[] | null = null
    await copyDatabase(paths.database, database, () => {
      files = named(before, place)
      if (files !== null && !isSame(before, listHomeFiles(paths, options).files)) files = null
    })
    if (files !== null) return { database, files, skipped }
  }
  throw new Problem('conflict', {
    detail: 'files of the home changed faster than they could be read',
    repair:
      'Repeat the backup when agents and people write fewer files (flotilla pause holds triggers); nothing was written.',
  })
}

/** Null if a file was deleted before it was linked. */
function named(seen: readonly HomeFile[], place: string): readonly CutFile[] | null {
  try {
    return seen.map(({ path, mode, place: from }, index) => {
      const source = join(place, String(index))
      if (path === 'data/journal-anchors.jsonl') writeFileSync(source, readFileSync(from), { mode: 0o600 })
      else linkOrCopy(from, source)
      return { path, mode, source }
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && noLinkCodes.has(error.code))) throw error
    copyFileSync(from, to, constants.COPYFILE_FICLONE)
  }
}

function isSame(one: readonly HomeFile[], other: readonly HomeFile[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ path, stamp }, index) => path === other[index]?.path && stamp === other[index].stamp)
  )
}

import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import type { DataPaths } from '@flotilla/foundation/config'
import { copyDatabase } from '@flotilla/foundation/storage'
import { shownName } from './agent-entry-rules.ts'
import type { BackupSecrets } from './entry-path.ts'
import { anchorsPath, inodeOf, isArtifact, listHomeFiles, stampOf } from './list-home-files.ts'
import type { HomeFile } from './list-home-files.ts'
import { createSkippedList, joinSkipped } from './skipped-entries.ts'
import type { Skipped, SkippedList } from './skipped-entries.ts'

/** The retry limit: an owner's program that writes constantly would otherwise repeat the snapshot forever. */
const triesMax = 20
/** After this many tries, artifacts that change between the two checks no longer repeat the snapshot (C3). */
const strictTries = 3
/** How often linking one artifact is tried if an agent replaces it between the check and the link. */
const linkTries = 3
/** Error codes of the file system if it cannot link a file into the snapshot's folder. */
const noLinkCodes: ReadonlySet<unknown> = new Set([
  'EXDEV',
  'EPERM',
  'EMLINK',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
])
/** Error codes for a file that was deleted or replaced by something else. */
const missingFileCodes: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO'])

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
  /** The size that was checked; bytes that a program appends to the file later are not read. */
  readonly bytes: number
  /** The path of the snapshot's copy. */
  readonly source: string
}

/**
 * Takes a consistent snapshot of a home's database and files in `folder`, which is on the same file system.
 *
 * - C1 The mesh replaces its files atomically, so a hard link keeps the old content. The one file that grows, the
 *   anchors of the audit log, is copied, as are files on another file system.
 * - C2 The files are checked before the database snapshot is fixed and after they were linked; if one was replaced in
 *   between, the snapshot is repeated. Problem `conflict` if no try succeeds.
 * - C3 Agents save artifacts at any time, so after a few tries an artifact may be newer than the database, as after a
 *   kill of the mesh. A deleted artifact is skipped.
 * - C4 The linked or copied file is the one that was checked, so a path that now leads elsewhere adds nothing.
 */
export async function takeCut(paths: DataPaths, folder: string, options: BackupSecrets): Promise<Cut> {
  const database = join(folder, 'mesh.db')
  for (let tries = 0; tries < triesMax; tries++) {
    const place = join(folder, `files-${tries}`)
    mkdirSync(place, { recursive: true, mode: 0o700 })
    const { files: before, skipped } = listHomeFiles(paths, options)
    const isStrict = tries < strictTries
    const gone = isStrict ? null : createSkippedList()
    let files: readonly CutFile[] | null = null
    await copyDatabase(paths.database, database, () => {
      files = named(before, place, gone)
      if (files !== null && !isSame(before, listHomeFiles(paths, options).files, isStrict)) files = null
    })
    if (files !== null)
      return { database, files, skipped: gone === null ? skipped : joinSkipped(skipped, gone.list()) }
    rmSync(place, { recursive: true, force: true })
  }
  throw new Problem('conflict', {
    detail: 'files of the home changed faster than they could be read',
    repair:
      'Repeat the backup when agents and people write fewer files (flotilla pause holds triggers); nothing was written.',
  })
}

const missingFileReason = 'it was deleted, or changed again and again, while it was read'

/** Links or copies the files; null if one changed. With `gone`, artifacts may be newer; it lists lost ones. */
function named(
  seen: readonly HomeFile[],
  place: string,
  gone: SkippedList | null,
): readonly CutFile[] | null {
  const files: CutFile[] = []
  // In reverse order: the audit log's anchors, the last file, grow and must be copied first.
  for (const [index, file] of [...seen.entries()].toReversed()) {
    const source = join(place, String(index))
    const { path, mode } = file
    const mayBeNewer = gone !== null && isArtifact(path)
    const bytes = mayBeNewer ? keepNewer(file, source) : keepChecked(file, source)
    if (bytes !== null) files.push({ path, mode, bytes, source })
    else if (mayBeNewer) gone.add(shownName(Buffer.from(path).toString('latin1')), missingFileReason)
    else return null
  }
  return files.toReversed()
}

/** Links or copies the checked file to `source`. Returns its size; null if another file is there now (C4). */
function keepChecked(file: HomeFile, source: string): number | null {
  const { place, stamp, path, bytes } = file
  const isKept = unlessGone(() =>
    path === anchorsPath
      ? copyOpened(place, source, stamp)
      : (isLinked(place, source, stamp) ?? copyOpened(place, source, stamp)),
  )
  if (isKept === true) return bytes
  rmSync(source, { force: true })
  return null
}

/** Like `keepChecked` for an artifact: accepts a newer file if the folder is the one that was checked (C3, C4). */
function keepNewer(file: HomeFile, source: string): number | null {
  const folder = unlessGone(() => openSync(dirname(file.place), constants.O_RDONLY | constants.O_DIRECTORY))
  if (folder === null) return null
  try {
    if (inodeOf(fstatSync(folder, { bigint: true })) !== file.folder) return null
    const place = `/proc/self/fd/${folder}/${basename(file.place)}`
    for (let tries = 0; tries < linkTries; tries++) {
      const stats = unlessGone(() => lstatSync(place, { bigint: true }))
      if (stats === null) return null
      const bytes = keepChecked({ ...file, place, stamp: stampOf(stats), bytes: Number(stats.size) }, source)
      if (bytes !== null) return bytes
    }
    return null
  } finally {
    closeSync(folder)
  }
}

/** Returns the result of `work`, or null if `work` fails because a file was deleted or replaced. */
function unlessGone<Result>(work: () => Result): Result | null {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && missingFileCodes.has(error.code))) throw error
    return null
  }
}

/** Whether the linked file has the stamp; null if the file system cannot link it. */
function isLinked(from: string, to: string, stamp: string): boolean | null {
  try {
    linkSync(from, to)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && noLinkCodes.has(error.code))) throw error
    return null
  }
  const stats = lstatSync(to, { bigint: true })
  return stats.isFile() && stampOf(stats) === stamp
}

/** Copies a file if it has the stamp. A pipe or a link in its place is not opened. */
function copyOpened(from: string, to: string, stamp: string): boolean {
  const file = openSync(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(file, { bigint: true })
    if (!stats.isFile() || stampOf(stats) !== stamp) return false
    copyFileSync(`/proc/self/fd/${file}`, to, constants.COPYFILE_FICLONE)
    return true
  } finally {
    closeSync(file)
  }
}

function isSame(one: readonly HomeFile[], other: readonly HomeFile[], isStrict: boolean): boolean {
  const compared = (files: readonly HomeFile[]): readonly HomeFile[] =>
    files.filter(({ path }) => path !== anchorsPath && (isStrict || !isArtifact(path)))
  const [before, after] = [compared(one), compared(other)]
  return (
    before.length === after.length &&
    before.every(({ path, stamp }, index) => path === after[index]?.path && stamp === after[index].stamp)
  )
}

import { linkSync, lstatSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import type { DataPaths } from '../config/index.ts'
import { copyDatabase } from '../storage/index.ts'
import { isLeftOut } from './entry-path.ts'
import type { BackupSecrets } from './entry-path.ts'

/** What a fleet that writes without a pause would have us begin anew for ever. */
const triesMax = 20
/** Files of a home beside its agents' data; more are no home of ours. */
const filesMax = 100_000

export interface CutFile {
  /** Below the home, with slashes. */
  readonly path: string
  readonly mode: number
  /** Where it lies as it was at the moment of the cut. */
  readonly source: string
}

/**
 * Database and files of a home as they stood at one moment, in `folder`, which is on the same file system.
 *
 * - C1 Every file that the mesh writes is replaced whole under its name, so that a further name keeps what it was; the one
 *   file that grows, the anchors of the journal, is copied.
 * - C2 The files are looked at before the moment that the database is pinned at and after they were named: where one is
 *   another by then, the cut is taken anew. Problem `conflict` where that comes to no end.
 */
export async function takeCut(
  paths: DataPaths,
  folder: string,
  options: BackupSecrets,
): Promise<{ readonly database: string; readonly files: readonly CutFile[] }> {
  const database = join(folder, 'mesh.db')
  for (let tries = 0; tries < triesMax; tries++) {
    const place = join(folder, `files-${tries}`)
    mkdirSync(place, { recursive: true, mode: 0o700 })
    const before = listFiles(paths, options)
    let files: readonly CutFile[] | null = null
    await copyDatabase(paths.database, database, () => {
      files = named(paths, before, place)
      if (files !== null && !isSame(before, listFiles(paths, options))) files = null
    })
    if (files !== null) return { database, files }
  }
  throw new Problem('conflict', {
    detail: 'files of the home changed faster than they could be read',
    repair: 'Try again when less is saved; nothing was written.',
  })
}

/** What the files of a cut hold together, in bytes, as they stand now. */
export function bytesOfFiles(paths: DataPaths, options: BackupSecrets): number {
  return listFiles(paths, options).reduce((sum, { bytes }) => sum + bytes, 0)
}

interface Seen {
  readonly path: string
  readonly bytes: number
  readonly mode: number
  /** What is another when the file is. */
  readonly stamp: string
}

function listFiles(paths: DataPaths, options: BackupSecrets): readonly Seen[] {
  const seen: Seen[] = []
  const walk = (path: string): void => {
    if (seen.length > filesMax) throw new Problem('unprocessable', { detail: 'the home has too many files' })
    if (isLeftOut(path, options)) return
    const found = lstatSync(join(paths.home, path), { bigint: true, throwIfNoEntry: false })
    if (found?.isDirectory() === true) {
      for (const name of namesIn(join(paths.home, path))) walk(`${path}/${name}`)
    } else if (found?.isFile() === true) {
      const { dev, ino, size, mtimeNs } = found
      // Names that begin so are halves of a write that is under way.
      if (/\/\.staged-/.test(path)) return
      seen.push({
        path,
        bytes: Number(size),
        mode: Number(found.mode) & 0o777,
        stamp: `${dev}:${ino}:${size}:${mtimeNs}`,
      })
    }
  }
  for (const path of [
    '.env',
    'config',
    'data/mesh-secret',
    'data/wallet-seed',
    'data/wallet-key',
    'data/journal-anchors.jsonl',
    'data/artifacts',
    'cassettes',
    'templates',
  ]) {
    walk(path)
  }
  return seen
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch {
    return []
  }
}

/** Null where one was gone before it had its further name. */
function named(paths: DataPaths, seen: readonly Seen[], place: string): readonly CutFile[] | null {
  try {
    return seen.map(({ path, mode }, index) => {
      const source = join(place, String(index))
      const from = join(paths.home, path)
      if (path === 'data/journal-anchors.jsonl') writeFileSync(source, readFileSync(from), { mode: 0o600 })
      else linkSync(from, source)
      return { path, mode, source }
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

function isSame(one: readonly Seen[], other: readonly Seen[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ path, stamp }, index) => path === other[index]?.path && stamp === other[index].stamp)
  )
}

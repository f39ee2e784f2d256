import { accessSync, constants, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import type { DataPaths } from '../config/index.ts'
import { shownName } from './agent-entry-rules.ts'
import { belongsInHome, isLeftOut, secretPaths, whyNoPath } from './entry-path.ts'
import type { BackupSecrets } from './entry-path.ts'
import { createSkippedList } from './skipped-entries.ts'
import type { Skipped } from './skipped-entries.ts'

/** Maximum number of files besides the agents' data. */
const filesMax = 100_000

const roots = [
  '.env',
  'config',
  'data/mesh-secret',
  'data/wallet-seed',
  'data/wallet-key',
  'data/journal-anchors.jsonl',
  'data/artifacts',
  'cassettes',
  'templates',
] as const

export interface HomeFile {
  /** The path below the home, with slashes. */
  readonly path: string
  readonly bytes: number
  readonly mode: number
  /** Changes whenever the file is replaced. */
  readonly stamp: string
  /** The real path after following links. */
  readonly place: string
  /** The file system that contains it. */
  readonly device: bigint
}

export interface HomeFiles {
  readonly files: readonly HomeFile[]
  readonly skipped: Skipped
}

/**
 * The files of a home that a backup contains. Links are followed, as the mesh follows them when it reads and writes
 * the home. Problem `unprocessable` for a secret that exists but cannot be read, and for a home with too many files.
 */
export function listHomeFiles(paths: DataPaths, options: BackupSecrets): HomeFiles {
  const files: HomeFile[] = []
  const home = realpathSync(paths.home)
  const skipped = createSkippedList()
  const skip = (path: string, why: string): void => {
    if (secretPaths.includes(path)) throw unreadableSecret(join(paths.home, path), why)
    skipped.add(shownName(Buffer.from(path).toString('latin1')), why)
  }
  /** `above` contains the parent folders, by device and inode. */
  const walk = (path: string, above: ReadonlySet<string>): void => {
    if (files.length > filesMax) throw tooMany(path)
    // Names with such a beginning or end are temporary files of an unfinished write.
    if (isLeftOut(path, options) || /\/\.staged-|\/\.[^/]+\.\d+-[0-9a-f]{12}\.tmp$/.test(path)) return
    const why = whyNoPath(path)
    if (why !== null) return skip(path, why)
    const from = join(paths.home, path)
    const own = lstatSync(from, { throwIfNoEntry: false })
    if (own === undefined) return
    const found = follow(from)
    if (typeof found === 'string') return skip(path, found)
    const { stats, place } = found
    const misplaced = whyNotHere(path, stats.isFile())
    if (misplaced !== null) return skip(path, misplaced)
    if (stats.isFile()) {
      const { dev, ino, size, mtimeNs } = stats
      const [bytes, mode] = [Number(size), Number(stats.mode) & 0o777]
      files.push({ path, bytes, mode, stamp: `${dev}:${ino}:${size}:${mtimeNs}`, place, device: dev })
      return
    }
    const folder = `${stats.dev}:${stats.ino}`
    const isBelow = above.size > 0
    // Links to parents or to the home would add other files under a second name, also the snapshot of this backup.
    if (above.has(folder) || (own.isSymbolicLink() && isOver(place, home, isBelow)))
      return skip(path, 'a link that leads back into the home, or to a folder above the home')
    for (const name of namesIn(place)) walk(`${path}/${name}`, new Set([...above, folder]))
  }
  for (const path of roots) walk(path, new Set())
  return { files, skipped: skipped.list() }
}

/** The reason why a restore would reject the file, or the files of the folder; null if it accepts them. Pure. */
function whyNotHere(path: string, isFile: boolean): string | null {
  if (belongsInHome(isFile ? path : `${path}/x`)) return null
  return isFile ? 'it is a file, where a home has a folder' : 'it is a folder, where a home has a file'
}

/** A file or folder that can be read, or the reason why it cannot. */
function follow(from: string): { readonly stats: BigIntStats; readonly place: string } | string {
  try {
    const place = realpathSync(from)
    const stats = statSync(place, { bigint: true })
    if (stats.isDirectory()) accessSync(place, constants.R_OK | constants.X_OK)
    else if (stats.isFile()) accessSync(place, constants.R_OK)
    else return 'it is a pipe, a socket or a device, which a backup cannot contain'
    return { stats, place }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'ENOENT') return 'a symbolic link whose target does not exist'
    if (code === 'ELOOP') return 'a symbolic link that leads to itself'
    if (code === 'EACCES' || code === 'EPERM') return 'this user may not read it'
    return `it cannot be read: ${code}`
  }
}

/** Whether a folder holds the home; with `orInside` also whether the home holds it. Pure. */
function isOver(place: string, home: string, orInside: boolean): boolean {
  const holds = (one: string, other: string) =>
    one === other || other.startsWith(one === '/' ? one : `${one}/`)
  return holds(place, home) || (orInside && holds(home, place))
}

/** Empty if the folder was deleted meanwhile. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

function unreadableSecret(place: string, why: string): Problem {
  return new Problem('unprocessable', {
    detail: `a backup with secrets cannot include ${place}: ${why}`,
    repair: `Make ${place} a readable file, or leave the secrets out with --without-secrets; nothing was written.`,
  })
}

function tooMany(path: string): Problem {
  return new Problem('unprocessable', {
    detail: `the home has more than ${filesMax} files besides the data of its agents; the last one found was ${path}`,
    repair: 'Delete files that are not needed from it, old artifacts first, and back it up again.',
  })
}

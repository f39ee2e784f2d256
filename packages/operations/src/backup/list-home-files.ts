import { accessSync, constants, lstatSync, opendirSync, realpathSync, statSync } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import { basename, join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import type { DataPaths } from '@flotilla/foundation/config'
import { shownName } from './agent-entry-rules.ts'
import { belongsInHome, isLeftOut, secretPaths, whyNoPath } from './entry-path.ts'
import type { BackupSecrets } from './entry-path.ts'
import { isLeftOutPlace } from './left-out-places.ts'
import { createSkippedList } from './skipped-entries.ts'
import type { Skipped } from './skipped-entries.ts'

export interface HomeBounds {
  /** The maximum number of entries in one folder of the home, its subfolders included. */
  readonly entriesPerRootMax: number
  /**
   * The maximum number of entries in the folder of one agent's artifacts; they do not count for the folder above. So
   * no agent uses up the share of another one.
   */
  readonly artifactsPerAgentMax: number
  /** Files of the home together. */
  readonly filesMax: number
}
/** An agent has at most 1,000 artifacts, and a fleet at most 1,000 agents. */
export const homeBounds: HomeBounds = {
  entriesPerRootMax: 100_000,
  artifactsPerAgentMax: 10_000,
  filesMax: 2_000_000,
}

const artifacts = 'data/artifacts'
export const anchorsPath = 'data/journal-anchors.jsonl'
/** The audit log's anchors come last: they grow, so the time until they are copied must be short. */
const roots = [
  '.env',
  'config',
  'data/mesh-secret',
  'data/wallet-seed',
  'data/wallet-key',
  'cassettes',
  'templates',
  artifacts,
  anchorsPath,
] as const
const artifactPath = /^data\/artifacts\/[^/]+\/./

export interface HomeFile {
  /** The path below the home, with slashes. */
  readonly path: string
  readonly bytes: number
  readonly mode: number
  /** Changes whenever the file is replaced or written. */
  readonly stamp: string
  /** The real path after following links. */
  readonly place: string
  /** The folder that lists this file, by device and inode; empty for the first folder of a home. */
  readonly folder: string
  /** The file system that contains it. */
  readonly device: bigint
}

export interface HomeFiles {
  readonly files: readonly HomeFile[]
  readonly skipped: Skipped
}

/** Whether an agent can replace the file at any time. Pure. */
export const isArtifact = (path: string): boolean => artifactPath.test(path)

/** Returns a text that changes whenever a file is replaced or written. Pure. */
export const stampOf = ({ dev, ino, size, mtimeNs }: BigIntStats): string =>
  `${dev}:${ino}:${size}:${mtimeNs}`
/** Returns a text that stays the same as long as a folder or file exists. Pure. */
export const inodeOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`

interface Folder {
  readonly path: string
  /** The real path after following links. */
  readonly place: string
  readonly inode: string
  /** The folder and its parents, by device and inode. */
  readonly above: ReadonlySet<string>
  /** How many more entries the folder may have, with its subfolders. */
  readonly room: { left: number }
}

/**
 * The files of a home that a backup contains. Links are followed, as the mesh follows them when it reads and writes
 * the home. Entries that do not belong to a home, and those beyond the bounds, are listed as skipped. Problem
 * `unprocessable` for a secret that exists but cannot be read.
 */
export function listHomeFiles(
  paths: DataPaths,
  options: BackupSecrets,
  bounds: HomeBounds = homeBounds,
): HomeFiles {
  const files: HomeFile[] = []
  const home = realpathSync(paths.home)
  const skipped = createSkippedList()
  const skip = (path: string, why: string): void => {
    if (secretPaths.includes(path)) throw unreadableSecret(join(paths.home, path), why)
    skipped.add(shownName(Buffer.from(path).toString('latin1')), why)
  }

  function visit(path: string, from: string, parent: Folder | null): void {
    if (isLeftOut(path, options) || isUnfinished(path)) return
    const why = whyNoPath(path)
    if (why !== null) return skip(path, why)
    const own = lstatSync(from, { bigint: true, throwIfNoEntry: false })
    if (own === undefined) return
    if (own.isSymbolicLink() && isArtifact(path)) return skip(path, 'a symbolic link in place of an artifact')
    const found = follow(from, own)
    if (typeof found === 'string') return skip(path, found)
    const { stats, place } = found
    const misplaced = whyNotHere(path, stats.isFile())
    if (misplaced !== null) return skip(path, misplaced)
    if (stats.isFile()) {
      if (files.length >= bounds.filesMax)
        return skip(path, `a backup holds ${bounds.filesMax} files at most`)
      const [bytes, mode] = [Number(stats.size), Number(stats.mode) & 0o777]
      const folder = parent?.inode ?? ''
      files.push({ path, bytes, mode, stamp: stampOf(stats), place, folder, device: stats.dev })
      return
    }
    const inode = inodeOf(stats)
    const above = parent?.above ?? new Set<string>()
    // Links to parents or to the home would add other files under a second name, also the snapshot of this backup.
    if (above.has(inode) || (own.isSymbolicLink() && isOver(place, home, parent !== null)))
      return skip(path, 'a link that leads back into the home, or to a folder above the home')
    const isOfAgent = parent?.path === artifacts
    const max = isOfAgent ? bounds.artifactsPerAgentMax : bounds.entriesPerRootMax
    const room = isOfAgent || parent === null ? { left: max } : parent.room
    visitEntries({ path, place, inode, above: new Set([...above, inode]), room }, max)
  }

  function visitEntries(folder: Folder, max: number): void {
    const { path, place, room } = folder
    for (const name of namesIn(place, room.left + 1)) {
      if (room.left === 0)
        return skip(
          `${path}/`,
          `it holds more than ${max} entries, and a backup takes no more of one folder; move some`,
        )
      room.left -= 1
      visit(`${path}/${name}`, `${place}/${name}`, folder)
    }
  }

  for (const path of roots) visit(path, join(paths.home, path), null)
  for (const name of foreignNames(paths)) skip(name, 'it does not belong to a home of Flotilla')
  return { files, skipped: skipped.list() }
}

/** Whether the name belongs to a temporary file of an unfinished write. Pure. */
function isUnfinished(path: string): boolean {
  return /\/\.staged-|(?:^|\/)\.[^/]+\.\d+-[0-9a-f]{12}\.tmp$/.test(path)
}

/** Entries of the home and of its `data` folder that a backup neither contains nor leaves out by choice. */
function foreignNames(paths: DataPaths): readonly string[] {
  const names = [
    ...namesIn(paths.dataFolder, foreignNamesMax).map((name) => `data/${name}`),
    ...namesIn(paths.home, foreignNamesMax),
  ]
  return names.filter((name) => basename(name) !== fileSystemName && !isKnownPlace(name))
}
const foreignNamesMax = 10_000
/** Some file systems create this folder themselves. */
const fileSystemName = 'lost+found'

/** Whether an entry of the home or of its `data` folder is among those that a backup contains or leaves out. Pure. */
export function isKnownPlace(path: string): boolean {
  const isKept = roots.some((root) => root === path || root.startsWith(`${path}/`))
  return isKept || isLeftOutPlace(path) || isUnfinished(path)
}

/** The reason why a restore would reject the file, or the files of the folder; null if it accepts them. Pure. */
function whyNotHere(path: string, isFile: boolean): string | null {
  if (belongsInHome(isFile ? path : `${path}/x`)) return null
  return isFile ? 'it is a file, where a home has a folder' : 'it is a folder, where a home has a file'
}

/** A file or folder that can be read, or the reason why it cannot. */
function follow(
  from: string,
  own: BigIntStats,
): { readonly stats: BigIntStats; readonly place: string } | string {
  try {
    const place = own.isSymbolicLink() ? realpathSync(from) : from
    const stats = own.isSymbolicLink() ? statSync(place, { bigint: true }) : own
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

/** Returns at most `max` names, sorted; none if the folder was deleted after it was listed. */
function namesIn(folder: string, max: number): readonly string[] {
  try {
    const open = opendirSync(folder)
    const names: string[] = []
    try {
      for (let next = open.readSync(); next !== null && names.length < max; next = open.readSync())
        names.push(next.name)
    } finally {
      open.closeSync()
    }
    return names.toSorted()
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return []
    throw error
  }
}

function unreadableSecret(place: string, why: string): Problem {
  return new Problem('unprocessable', {
    detail: `a backup with secrets cannot include ${place}: ${why}`,
    repair: `Make ${place} a readable file, or leave the secrets out with --without-secrets; nothing was written.`,
  })
}

import { lstatSync, opendirSync } from 'node:fs'
import type { Dir, Dirent } from 'node:fs'
import { join } from 'node:path'
import { changedFilesLimits } from '@flotilla/protocol/changed-files'
import type { ChangedFile, ChangedFiles } from '@flotilla/protocol/changed-files'

/** Files that are compared; with more, changes may be missing. The walk of so many takes about 20 ms of processor time. */
const comparedMax = 3000
/** Entries of all kinds that are read: a reading of as many empty folders takes about 150 ms of processor time. */
export const entriesReadMax = 5000

/** Folders of packages, caches and version control, at any depth: one command may change thousands of their files. */
const leftOutFolders: ReadonlySet<string> = new Set([
  'node_modules',
  '.git',
  '.venv',
  '__pycache__',
  '.cache',
])

/** The data directory, and the path below it of a folder whose changes say nothing about a run. */
export interface WatchedFolder {
  readonly dataDirectory: string
  readonly ownFolder: string
}

interface SeenFile {
  readonly sizeBytes: number
  /** When the file or its attributes changed; unlike the time of modification, programs cannot set it. */
  readonly changedAtMs: number
}

/** The files below /data at one time, by their path. */
export interface SeenFiles {
  readonly byPath: ReadonlyMap<string, SeenFile>
  readonly isPartial: boolean
}

/**
 * Reads names and sizes of the files below the data directory. Links are not followed. Left out: hidden folders and files
 * directly below it, which hold the state of the agent and of its programs; `ownFolder`, into which the agent itself
 * writes; and folders of packages, caches and version control. Reads synchronously, because the caller must know the
 * state before a tool starts.
 */
export function seeFiles({ dataDirectory, ownFolder }: WatchedFolder): SeenFiles {
  const byPath = new Map<string, SeenFile>()
  const folders = ['']
  let entries = 0
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesOf(join(dataDirectory, folder))) {
      entries += 1
      if (entries > entriesReadMax) return { byPath, isPartial: true }
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (path === entry.name && path.startsWith('.')) continue
      if (entry.isDirectory()) {
        if (path !== ownFolder && !leftOutFolders.has(entry.name)) folders.push(path)
        continue
      }
      if (byPath.size >= comparedMax) return { byPath, isPartial: true }
      const found = entry.isFile() ? seenFile(join(dataDirectory, path)) : null
      if (found !== null) byPath.set(path, found)
    }
  }
  return { byPath, isPartial: false }
}

/** Returns null for a file that a program removed or closed meanwhile. */
function seenFile(path: string): SeenFile | null {
  try {
    const { size, ctimeMs } = lstatSync(path)
    return { sizeBytes: size, changedAtMs: ctimeMs }
  } catch {
    return null
  }
}

/** Entries of a folder that are read with one call to the system. */
const entriesAtOnce = 256

/** Reads entry by entry, because one folder may have millions. */
function* entriesOf(folder: string): Generator<Dirent, void, void> {
  const open = opened(folder)
  if (open === null) return
  try {
    for (let entry = nextOf(open); entry !== null; entry = nextOf(open)) yield entry
  } finally {
    open.closeSync()
  }
}

/** Returns null for a folder that a program removed or closed meanwhile. */
function opened(folder: string): Dir | null {
  try {
    return opendirSync(folder, { bufferSize: entriesAtOnce })
  } catch {
    return null
  }
}

function nextOf(open: Dir): Dirent | null {
  try {
    return open.readSync()
  } catch {
    return null
  }
}

/** Returns what differs, sorted by path. If a reading is partial, only files in both count as changed. Pure. */
export function compareFiles(before: SeenFiles, after: SeenFiles): ChangedFiles {
  const isPartial = before.isPartial || after.isPartial
  const changed: ChangedFile[] = []
  for (const [path, now] of after.byPath) {
    const then = before.byPath.get(path)
    if (then === undefined) {
      if (!before.isPartial) changed.push(changedFile(path, 'made', now))
    } else if (then.sizeBytes !== now.sizeBytes || then.changedAtMs !== now.changedAtMs)
      changed.push(changedFile(path, 'changed', now))
  }
  if (!after.isPartial)
    for (const [path, then] of before.byPath)
      if (!after.byPath.has(path)) changed.push(changedFile(path, 'removed', then))
  const sorted = changed.toSorted((one, other) => (one.path < other.path ? -1 : 1))
  const files = sorted.slice(0, changedFilesLimits.listedMax)
  return { files, unlisted: sorted.length - files.length, is_partial: isPartial }
}

function changedFile(path: string, change: ChangedFile['change'], { sizeBytes }: SeenFile): ChangedFile {
  return { path: path.slice(0, changedFilesLimits.pathMaxChars), change, size_bytes: sizeBytes }
}

import { lstatSync, opendirSync, statSync } from 'node:fs'
import { compileNamePattern } from '@flotilla/identity/access'
import { nameAsText } from './scan-folder.ts'
import type { ScanEnd } from './scan-folder.ts'

/** The number of files per piece. */
export const pieceFiles = 1024
/** After this number of entries, matching or not, a piece is sent as a sign of progress. */
const pieceEntries = 8192
/** How many names one read of the directory returns. */
const bufferNames = 1024
/** The maximum number of directory entries that one scan of a watched folder reads, matching or not. */
export const entriesMax = 5_000_000

/** Some files of a folder, each with four numbers: modification and change time in milliseconds, size and inode. */
export interface FolderPiece {
  readonly names: readonly string[]
  readonly numbers: Float64Array<ArrayBuffer>
}
export const numbersOfFile = 4

/**
 * Reads a folder as `ScanFolder` specifies, blocking its thread. `hand` receives each piece,
 * possibly empty, and returns whether the scan continues.
 */
export function readFolder(path: string, pattern: string, hand: (piece: FolderPiece) => boolean): ScanEnd {
  try {
    return read(path, compileNamePattern(pattern), hand)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { kind: 'missing' }
    return { kind: 'unreadable', reason: error instanceof Error ? error.message : String(error) }
  }
}

function read(
  path: string,
  matches: (name: string) => boolean,
  hand: (piece: FolderPiece) => boolean,
): ScanEnd {
  const prefix = path.endsWith('/') ? path : `${path}/`
  const opened = statSync(path)
  const folder = opendirSync(path, { encoding: 'latin1', bufferSize: bufferNames })
  let piece = emptyPiece()
  let entries = 0

  /** Passes a piece on. Returns null if the scan continues, otherwise the reason why it ends. */
  function handOver(): ScanEnd | null {
    const now = statSync(path)
    // Files are read by path, so after a replacement of the folder they may belong to the new folder.
    if (now.ino !== opened.ino || now.dev !== opened.dev) {
      return { kind: 'unreadable', reason: 'the folder was replaced during the scan' }
    }
    const { names, numbers } = piece
    piece = emptyPiece()
    const wantsMore = hand({ names, numbers: numbers.slice(0, names.length * numbersOfFile) })
    return wantsMore ? null : { kind: 'whole', leftOut: true }
  }

  try {
    for (let entry = folder.readSync(); entry; entry = folder.readSync()) {
      if (++entries > entriesMax) return handOver() ?? { kind: 'whole', leftOut: true }
      // If the file system does not report the type of an entry, `addFile` finds out the type.
      const mayBeFile = entry.isFile() || !isKnownOther(entry)
      if (mayBeFile && matches(nameAsText(entry.name))) addFile(prefix, entry.name, piece)
      if (piece.names.length < pieceFiles && entries % pieceEntries !== 0) continue
      const end = handOver()
      if (end) return end
    }
    return handOver() ?? { kind: 'whole', leftOut: false }
  } finally {
    folder.closeSync()
  }
}

interface OpenPiece {
  readonly names: string[]
  readonly numbers: Float64Array<ArrayBuffer>
}

function emptyPiece(): OpenPiece {
  return { names: [], numbers: new Float64Array(pieceFiles * numbersOfFile) }
}

/** Adds a file to the piece, unless the file is gone or is not a plain file. */
function addFile(prefix: string, name: string, { names, numbers }: OpenPiece): void {
  const isPlain = !/[\u0080-\u00FF]/.test(name)
  const path = isPlain ? prefix + name : Buffer.concat([Buffer.from(prefix), Buffer.from(name, 'latin1')])
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found?.isFile()) return
  const at = names.length * numbersOfFile
  numbers[at] = found.mtimeMs
  numbers[at + 1] = found.ctimeMs
  numbers[at + 2] = found.size
  numbers[at + 3] = found.ino
  names.push(name)
}

function isKnownOther(entry: {
  isDirectory(): boolean
  isSymbolicLink(): boolean
  isSocket(): boolean
  isFIFO(): boolean
  isBlockDevice(): boolean
  isCharacterDevice(): boolean
}): boolean {
  return (
    entry.isDirectory() ||
    entry.isSymbolicLink() ||
    entry.isSocket() ||
    entry.isFIFO() ||
    entry.isBlockDevice() ||
    entry.isCharacterDevice()
  )
}

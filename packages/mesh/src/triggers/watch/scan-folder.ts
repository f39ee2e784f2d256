import { lstat } from 'node:fs'
import { opendir } from 'node:fs/promises'
import type { FileLook } from './seen-files.ts'

/** Names read ahead and looked at before the next are read. */
const batchNames = 256
/** Looks at once. The rest of the mesh shares the four threads that files are read on, also when a mount hangs. */
const looksAtOnce = 2
/** Entries of one folder that are read in one scan, matching or not. */
export const entriesMax = 5_000_000

export type ScanEnd =
  /** `leftOut`: there was more than one scan takes. */
  | { readonly kind: 'whole'; readonly leftOut: boolean }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly reason: string }

/**
 * Looks at every plain file right within `path` whose name matches. Links are never followed: not one entry leads out
 * of the folder. Names are given as the disk has them, one character for each byte. `each` says whether it has room for
 * more. Never rejects but for the signal's reason.
 */
export type ScanFolder = (
  path: string,
  scan: {
    readonly matches: (name: string) => boolean
    readonly each: (name: string, look: FileLook) => boolean
    readonly signal: AbortSignal
  },
) => Promise<ScanEnd>

export const scanFolder: ScanFolder = async (path, scan) => {
  const prefix = Buffer.from(path.endsWith('/') ? path : `${path}/`)
  let leftOut = false
  let entries = 0

  async function lookAtAll(names: readonly string[]): Promise<void> {
    let next = 0
    const looker = async (): Promise<void> => {
      for (let at = next++; at < names.length && !leftOut; at = next++) {
        const name = names[at] ?? ''
        const look = await lookAt(Buffer.concat([prefix, Buffer.from(name, 'latin1')]))
        if (look && !scan.each(name, look)) leftOut = true
      }
    }
    await Promise.all(Array.from({ length: looksAtOnce }, looker))
    scan.signal.throwIfAborted()
  }

  try {
    let names: string[] = []
    for await (const entry of await opendir(path, { encoding: 'latin1', bufferSize: batchNames })) {
      if (++entries > entriesMax) leftOut = true
      if (leftOut) break
      // Where the file system does not say what an entry is, the look will.
      const mayBeFile = entry.isFile() || !isKnownOther(entry)
      if (mayBeFile && scan.matches(nameAsText(entry.name))) names.push(entry.name)
      if (names.length < batchNames) continue
      await lookAtAll(names)
      names = []
    }
    await lookAtAll(names)
    return { kind: 'whole', leftOut }
  } catch (error) {
    scan.signal.throwIfAborted()
    if (codeOf(error) === 'ENOENT') return { kind: 'missing' }
    return { kind: 'unreadable', reason: error instanceof Error ? error.message : String(error) }
  }
}

/** A name as text; bytes that are no UTF-8 show as the replacement character. Pure. */
export function nameAsText(name: string): string {
  // Most names are plain, and for those both spellings are one.
  return /[\u0080-\u00FF]/.test(name) ? Buffer.from(name, 'latin1').toString('utf8') : name
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

/** Null for what is gone meanwhile, or is no plain file. */
function lookAt(path: Buffer): Promise<FileLook | null> {
  return new Promise((resolve, reject) => {
    lstat(path, (error, found) => {
      if (error) {
        if (error.code === 'ENOENT') resolve(null)
        else reject(error)
        return
      }
      resolve(
        found.isFile()
          ? {
              modifiedMs: found.mtimeMs,
              changedMs: found.ctimeMs,
              sizeBytes: found.size,
              inode: found.ino,
            }
          : null,
      )
    })
  })
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** How many entries one count visits; for a folder with more, the result is a lower bound. */
const entriesMax = 200_000

export interface Counted {
  readonly bytes: number
  /** The newest change of the file, or of any entry of the folder, in milliseconds since 1970. */
  readonly changedMs: number
}

/**
 * The disk space of a file or a folder with everything below it; null if it does not exist. Does not follow links.
 */
export async function countBytes(path: string): Promise<Counted | null> {
  const open = [path]
  let [bytes, changedMs, seen] = [0, 0, 0]
  for (let at = open.pop(); at !== undefined && seen < entriesMax; at = open.pop()) {
    const found = await lstat(at).catch(() => null)
    if (found === null) continue
    seen += 1
    bytes += found.blocks * blockBytes
    changedMs = Math.max(changedMs, found.mtimeMs)
    if (!found.isDirectory()) continue
    for (const name of await readdir(at).catch(() => [])) open.push(join(at, name))
  }
  return seen === 0 ? null : { bytes, changedMs }
}

/** The block size that `stat` uses for its counts, whatever the file system uses (`man 2 stat`). */
const blockBytes = 512

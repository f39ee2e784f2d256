import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Entries that one count looks at; a folder with more is said to have at least so much. */
const entriesMax = 200_000

export interface Counted {
  readonly bytes: number
  /** When anything in it was changed last, milliseconds since 1970. */
  readonly changedMs: number
}

/** What a file or a folder takes of its disk, with all that is below; null where there is none. Links are not followed. */
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

/** Of what the system calls blocks, whatever the file system's own are (`man 2 stat`). */
const blockBytes = 512

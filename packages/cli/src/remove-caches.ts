import { readFile, readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'

/** A part of the caches that was kept, and a program that uses it. */
export interface UsedCache {
  readonly path: string
  readonly pid: number
  readonly program: string
}

/** How often a folder is emptied again into which another fleet of this user writes meanwhile. */
const retriesMax = 5

/**
 * Removes the caches of this user, except parts that the command line of a running program names: a container engine
 * that Flotilla started also serves other homes, and needs its settings when it starts again. Rejects with the error
 * of the file system.
 */
export async function removeCaches(folder: string): Promise<readonly UsedCache[]> {
  const parts = await readdir(folder).catch(() => [])
  const processes = await runningPrograms()
  const used: UsedCache[] = []
  for (const part of parts) {
    const path = join(folder, part)
    const user = processes.find(({ words }) =>
      words.some((word) => word === path || word.startsWith(`${path}/`)),
    )
    if (user) used.push({ path, pid: user.pid, program: basename(user.words[0] ?? '') })
    else await rm(path, { recursive: true, force: true, maxRetries: retriesMax })
  }
  if (used.length === 0) await rm(folder, { recursive: true, force: true, maxRetries: retriesMax })
  return used
}

async function runningPrograms(): Promise<
  readonly { readonly pid: number; readonly words: readonly string[] }[]
> {
  const pids = (await readdir('/proc').catch(() => []))
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid)
  return Promise.all(
    pids.map(async (pid) => ({
      pid,
      // A process may have ended meanwhile.
      words: (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0'),
    })),
  )
}

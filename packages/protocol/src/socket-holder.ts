/** The part of `node:fs` that it takes, so that both programs can ask and neither imports the other. */
export interface ProcFiles {
  readdirSync(path: string): readonly string[]
  readlinkSync(path: string): string
  readFileSync(path: string, encoding: 'utf8'): string
  statSync(path: string): { readonly uid: number }
}

/** Flag of a socket that listens, in /proc/net/unix. */
const listens = '00010000'

/**
 * The process that listens on an abstract socket, if a trusted user runs it. Any user of the machine can take the name of
 * an abstract socket and answer as they like; the kernel says which process holds it. Null where the name is free, or where
 * a process of another user holds it. Linux alone; `name` begins with a NUL.
 */
export function trustedHolder(
  files: ProcFiles,
  name: string,
  trustedUids: readonly number[],
): { readonly pid: number } | null {
  const inodes = inodesOf(files, name)
  if (inodes.length === 0) return null
  const links = inodes.map((inode) => `socket:[${inode}]`)
  for (const pid of files.readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    try {
      if (!trustedUids.includes(files.statSync(`/proc/${pid}`).uid)) continue
      if (holds(files, pid, links)) return { pid: Number(pid) }
    } catch {
      // It has ended, or may not be read: then it is not one that can be trusted.
    }
  }
  return null
}

function inodesOf(files: ProcFiles, name: string): readonly string[] {
  const shown = `@${name.slice(1)}`
  return files
    .readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, , , flags, , , inode, path] = line.trim().split(/\s+/)
      return path === shown && flags === listens && inode !== undefined ? [inode] : []
    })
}

function holds(files: ProcFiles, pid: string, links: readonly string[]): boolean {
  return files.readdirSync(`/proc/${pid}/fd`).some((file) => {
    try {
      return links.includes(files.readlinkSync(`/proc/${pid}/fd/${file}`))
    } catch {
      return false
    }
  })
}

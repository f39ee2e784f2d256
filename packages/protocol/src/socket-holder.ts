/** The part of `node:fs` that this needs, so that both programs can use it without importing each other. */
export interface ProcFiles {
  readdirSync(path: string): readonly string[]
  readlinkSync(path: string): string
  readFileSync(path: string, encoding: 'utf8'): string
  statSync(path: string): { readonly uid: number }
}

export interface Listener {
  readonly name: string
  readonly inode: string
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
  const inodes = listenersOn(files, (other) => other === name).map(({ inode }) => inode)
  return inodes.length === 0 ? null : holderOf(files, inodes, trustedUids)
}

/** Abstract sockets with a listener, by name; a name begins with a NUL. Linux alone. */
export function listenersOn(
  files: Pick<ProcFiles, 'readFileSync'>,
  isWanted: (name: string) => boolean,
): readonly Listener[] {
  return files
    .readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, , , flags, , , inode, path] = line.trim().split(/\s+/)
      if (flags !== listens || inode === undefined || path?.startsWith('@') !== true) return []
      const name = `\0${path.slice(1)}`
      return isWanted(name) ? [{ name, inode }] : []
    })
}

/** The first process of a trusted user that holds one of these sockets; null if this process can read none such. */
export function holderOf(
  files: ProcFiles,
  inodes: readonly string[],
  trustedUids: readonly number[],
): { readonly pid: number; readonly inode: string } | null {
  for (const pid of files.readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    try {
      if (!trustedUids.includes(files.statSync(`/proc/${pid}`).uid)) continue
      const inode = heldBy(files, pid, inodes)
      if (inode !== undefined) return { pid: Number(pid), inode }
    } catch {
      // The process has ended, or may not be read, so it is not trusted.
    }
  }
  return null
}

function heldBy(files: ProcFiles, pid: string, inodes: readonly string[]): string | undefined {
  for (const file of files.readdirSync(`/proc/${pid}/fd`)) {
    try {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(files.readlinkSync(`/proc/${pid}/fd/${file}`)) ?? []
      if (inode !== undefined && inodes.includes(inode)) return inode
    } catch {
      // The descriptor was closed meanwhile.
    }
  }
  return undefined
}

/** The part of `node:fs` that this file needs, so that two programs can use it without importing each other. */
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

/** The maximum number of listeners that are asked who they are, because this user cannot read their process. */
const queriedMax = 32

/**
 * Returns the answer of a socket's holder whose process this user cannot read: only root reads those of other users,
 * and one of the same user cannot be read if its program is only executable, as Node is in the images, or if it
 * changed its user. An answer counts if it names such a process of a trusted user whose command line `isMeant`; null
 * if none counts.
 */
export async function unreadableHolder<Answer extends { readonly pid: number }>(
  files: ProcFiles,
  listeners: readonly Listener[],
  by: {
    readonly ownUid: number
    readonly trustedUids: readonly number[]
    readonly answerOf: (name: string) => Promise<Answer | null>
    readonly isMeant: (words: readonly string[]) => boolean
  },
): Promise<Answer | null> {
  if (by.ownUid === 0) return null
  const answers = await Promise.all(listeners.slice(0, queriedMax).map(({ name }) => by.answerOf(name)))
  for (const answer of answers) {
    if (answer === null) continue
    try {
      const { uid } = files.statSync(`/proc/${answer.pid}`)
      const words = files.readFileSync(`/proc/${answer.pid}/cmdline`, 'utf8').split('\0')
      const isUnreadable = uid !== by.ownUid || !isReadable(files, answer.pid)
      if (isUnreadable && by.trustedUids.includes(uid) && by.isMeant(words)) return answer
    } catch {
      // The process has ended.
    }
  }
  return null
}

function isReadable(files: ProcFiles, pid: number): boolean {
  try {
    files.readdirSync(`/proc/${pid}/fd`)
    return true
  } catch {
    return false
  }
}

/** Returns the abstract sockets with a listener, by name; a name begins with a NUL. Linux alone. */
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

/**
 * Returns the first readable process of a trusted user that holds one of these sockets, or null. Any user of the
 * machine can take the name of an abstract socket and answer as they like; the kernel says which process holds it.
 */
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
      // A process that has ended, or whose files this user may not read, is not trusted.
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

import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'

/** State of a listening socket in the kernel's table. */
const listening = '0A'
const tables = ['net/tcp', 'net/tcp6'] as const
/** Processes that are looked through; a machine with more keeps the answer to itself. */
const processesMax = 10_000

export interface PortHolder {
  readonly pid: number
  /** What the process calls itself. */
  readonly name: string
}

/** The process that listens on a port of this machine; null where it is not known, such as another user's. */
export async function portHolder(port: number, proc = '/proc'): Promise<PortHolder | null> {
  const texts = await Promise.all(tables.map((table) => readQuietly(join(proc, table))))
  const sockets = new Set(
    texts.flatMap((text) => listenersOn(text, port)).map((inode) => `socket:[${inode}]`),
  )
  if (sockets.size === 0) return null
  const pids = (await readdir(proc).catch(() => [])).filter((name) => /^\d+$/.test(name))
  for (const pid of pids.slice(0, processesMax)) {
    if (!(await holdsOne(join(proc, pid, 'fd'), sockets))) continue
    const name = (await readQuietly(join(proc, pid, 'comm'))).replace(/[^\x20-\x7E]/g, '').slice(0, 15)
    return { pid: Number(pid), name: name === '' ? 'unnamed' : name }
  }
  return null
}

/** Inodes of the sockets that listen on the port. Pure. */
export function listenersOn(table: string, port: number): readonly string[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    return state === listening && local.endsWith(end) && inode !== '' ? [inode] : []
  })
}

/** Processes end and close files while they are looked at, and those of other users may not be. */
async function holdsOne(folder: string, sockets: ReadonlySet<string>): Promise<boolean> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (sockets.has(await readlink(join(folder, name)).catch(() => ''))) return true
  }
  return false
}

async function readQuietly(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}

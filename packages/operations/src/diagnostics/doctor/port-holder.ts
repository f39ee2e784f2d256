import { readdir, readFile, readlink } from 'node:fs/promises'
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
import { join } from 'node:path'

/** State of a listening socket in the kernel's table. */
const listening = '0A'
const tables = ['net/tcp', 'net/tcp6'] as const
/** How many processes are searched; on a machine with more, the holder may stay unknown. */
const processesMax = 10_000

export interface PortHolder {
  readonly pid: number
  /** The process name from the kernel. */
  readonly name: string
}

export interface Place {
  readonly port: number
  /** An IP address, not a host name. */
  readonly host: string
}

/**
 * Finds the process that already listens on an address; null if unknown, for example if it belongs to another user.
 * This process is returned only if no other holds the port.
 */
export async function portHolder(place: Place, proc = '/proc'): Promise<PortHolder | null> {
  const texts = await Promise.all(tables.map((table) => readQuietly(join(proc, table))))
  const sockets = new Set(
    texts.flatMap((text) => listenersOn(text, place)).map((inode) => `socket:[${inode}]`),
  )
  if (sockets.size === 0) return null
  const pids = (await readdir(proc).catch(() => [])).filter((name) => /^\d+$/.test(name))
  const own = String(process.pid)
  const others = pids.filter((pid) => pid !== own).slice(0, processesMax)
  for (const pid of pids.includes(own) ? [...others, own] : others) {
    if (!(await holdsOne(join(proc, pid, 'fd'), sockets))) continue
    const name = (await readQuietly(join(proc, pid, 'comm'))).replace(/[^\x20-\x7E]/g, '').slice(0, 15)
    return { pid: Number(pid), name: name === '' ? 'unnamed' : name }
  }
  return null
}

/** Inodes of the sockets that listen on the port of that address, or on all addresses. Pure. */
export function listenersOn(table: string, { port, host }: Place): readonly string[] {
  const end = port.toString(16).toUpperCase().padStart(4, '0')
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    const [address = '', number] = local.split(':')
    if (state !== listening || number !== end || inode === '') return []
    return isInTheWay(addressOf(address), host) ? [inode] : []
  })
}

/**
 * True if `held` blocks `requestedHost`. A socket on all IPv6 addresses counts as blocking IPv4 too: it usually does,
 * and the kernel's table does not show an exception.
 */
function isInTheWay(held: string, requestedHost: string): boolean {
  if (held === everySix || requestedHost === '::') return true
  if (isIPv6(requestedHost)) return areSame(held, requestedHost)
  const isFour = isIPv4(held) || isMapped(held)
  if (held === '0.0.0.0' || requestedHost === '0.0.0.0') return isFour
  return areSame(held, requestedHost)
}

const everySix = Array.from({ length: 8 }, () => '0000').join(':')

function isMapped(address: string): boolean {
  return address.startsWith('0000:0000:0000:0000:0000:FFFF:')
}

/** True if both texts are the same address: there are several notations, and IPv4 addresses mapped to IPv6. */
function areSame(one: string, other: string): boolean {
  if (isIP(one) === 0 || isIP(other) === 0) return false
  const list = new BlockList()
  list.addAddress(one, isIPv4(one) ? 'ipv4' : 'ipv6')
  return list.check(other, isIPv4(other) ? 'ipv4' : 'ipv6')
}

/** Converts an address of the kernel's table, whose bytes are reversed in each group of four. */
function addressOf(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => (word.match(/../g) ?? []).toReversed())
  if (bytes.length === 4) return bytes.map((byte) => Number.parseInt(byte, 16)).join('.')
  return (bytes.join('').match(/.{4}/g) ?? []).join(':')
}

/** Returns true if the process has one of the sockets open. Ignores files that cannot be read or are gone. */
async function holdsOne(folder: string, sockets: ReadonlySet<string>): Promise<boolean> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (sockets.has(await readlink(join(folder, name)).catch(() => ''))) return true
  }
  return false
}

async function readQuietly(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}

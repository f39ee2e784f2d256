import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'

/** Both ends of a connection as the server sees it. */
export interface ConnectionEnds {
  readonly localAddress: string
  readonly localPort: number
  readonly remoteAddress: string
  readonly remotePort: number
}

/** State of an open connection in the kernel's table. One that its program has closed has no owner: it reads as root's. */
const established = '01'
const tables = ['/proc/net/tcp', '/proc/net/tcp6'] as const

/**
 * User id of the program at the far end of a loopback connection, from the kernel's table; null where the connection is
 * not open any more, and `unknown` on a system without the table. Asked once for each connection.
 */
export function createPeerUsers(
  readTable: (path: string) => string | null = readQuietly,
): (socket: Socket) => number | null | 'unknown' {
  const known = new WeakMap<Socket, number>()
  return (socket) => {
    const before = known.get(socket)
    if (before !== undefined) return before
    const { localAddress, localPort, remoteAddress, remotePort } = socket
    if (!localAddress || !remoteAddress || localPort === undefined || remotePort === undefined) return null
    const texts = tables.map(readTable).filter((text) => text !== null)
    if (texts.length === 0) return 'unknown'
    const ends = { localAddress, localPort, remoteAddress, remotePort }
    const user = texts.map((text) => userInTable(text, ends)).find((found) => found !== null) ?? null
    if (user !== null) known.set(socket, user)
    return user
  }
}

/** The owner of the far end's row: there local and remote have changed places. Pure. */
export function userInTable(table: string, ends: ConnectionEnds): number | null {
  const far = endOf(ends.remoteAddress, ends.remotePort)
  const near = endOf(ends.localAddress, ends.localPort)
  for (const line of table.split('\n')) {
    const [, local = '', remote = '', state, , , , user] = line.trim().split(/\s+/)
    if (state === established && isEnd(local, far) && isEnd(remote, near)) return Number(user)
  }
  return null
}

interface End {
  readonly addresses: readonly string[]
  readonly port: string
}

/** As the kernel writes it: bytes of each 32-bit word from the last to the first, in hex. */
function endOf(address: string, port: number): End {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  const dotted = /^(?:::ffff:)?(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  if (!dotted) return { addresses: address === '::1' ? [loopback6] : [], port: hexPort }
  const word = dotted
    .slice(1)
    .toReversed()
    .map((byte) => Number(byte).toString(16).toUpperCase().padStart(2, '0'))
    .join('')
  return { addresses: [word, `${mappedPrefix}${word}`], port: hexPort }
}

const loopback6 = '00000000000000000000000001000000'
const mappedPrefix = '0000000000000000FFFF0000'

function isEnd(text: string, end: End): boolean {
  const [address = '', port] = text.split(':')
  return port === end.port && end.addresses.includes(address)
}

function readQuietly(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

import { closeSync, openSync, readSync } from 'node:fs'
import type { Socket } from 'node:net'

/** Both ends of a connection from the server's view. */
export interface ConnectionEnds {
  readonly localAddress: string
  readonly localPort: number
  readonly remoteAddress: string
  readonly remotePort: number
}

/** State of an open connection in the kernel's table. If its program has closed it, its owner reads as root. */
const established = '01'
const tables = ['/proc/net/tcp', '/proc/net/tcp6'] as const

/** Size of one read of a table; the kernel returns about a page. */
const pieceBytes = 64 * 1024

/**
 * User id of the program at the other end of a loopback connection, from the kernel's table. Null if the
 * connection is no longer open, and `unknown` on a system without the table. Looked up once per connection,
 * and only up to its row: reading a whole table takes the kernel milliseconds and blocks the event loop.
 */
export function createPeerUsers(
  readTable: (path: string) => Iterable<string> | null = readPieces,
): (socket: Socket) => number | null | 'unknown' {
  const known = new WeakMap<Socket, number>()
  return (socket) => {
    const before = known.get(socket)
    if (before !== undefined) return before
    const { localAddress, localPort, remoteAddress, remotePort } = socket
    if (!localAddress || !remoteAddress || localPort === undefined || remotePort === undefined) return null
    const ends = { localAddress, localPort, remoteAddress, remotePort }
    let tablesRead = 0
    for (const path of tables) {
      const pieces = readTable(path)
      if (pieces === null) continue
      tablesRead++
      const user = userInTable(pieces, ends)
      if (user === null) continue
      known.set(socket, user)
      return user
    }
    return tablesRead === 0 ? 'unknown' : null
  }
}

/** The owner of the peer's row, in which local and remote addresses are swapped. Reads no further than that row. */
export function userInTable(pieces: Iterable<string>, ends: ConnectionEnds): number | null {
  const rows = rowsOf(ends)
  let cut = ''
  for (const piece of pieces) {
    const text = cut + piece
    const user = rows.map((row) => userOfRow(text, row)).find((found) => found !== null)
    if (user !== undefined) return user
    cut = text.slice(text.lastIndexOf('\n') + 1)
  }
  return null
}

/** Returns the user id in a row of the table; null if the row is missing or incomplete. */
function userOfRow(text: string, row: string): number | null {
  const at = text.indexOf(row)
  const end = text.indexOf('\n', at)
  if (at === -1 || end === -1) return null
  const [, , , user = ''] = text
    .slice(at + row.length, end)
    .trim()
    .split(/\s+/)
  return /^\d+$/.test(user) ? Number(user) : null
}

/** The beginning of the connection's row in either table, after the row's number. */
function rowsOf(ends: ConnectionEnds): readonly string[] {
  const near = addressesOf(ends.localAddress)
  return addressesOf(ends.remoteAddress).flatMap((far, at) => {
    const other = near[at]
    if (other === undefined) return []
    return [` ${far}:${hexPort(ends.remotePort)} ${other}:${hexPort(ends.localPort)} ${established} `]
  })
}

/** The kernel's notation in both tables: the bytes of each 32-bit word in reverse order, in hex. */
function addressesOf(address: string): readonly string[] {
  const dotted = /^(?:::ffff:)?(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  if (!dotted) return address === '::1' ? [loopback6] : []
  const word = dotted
    .slice(1)
    .toReversed()
    .map((byte) => Number(byte).toString(16).toUpperCase().padStart(2, '0'))
    .join('')
  return [word, `${mappedPrefix}${word}`]
}

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0')

const loopback6 = '00000000000000000000000001000000'
const mappedPrefix = '0000000000000000FFFF0000'

function readPieces(path: string): Iterable<string> | null {
  try {
    return piecesOf(openSync(path, 'r'))
  } catch {
    return null
  }
}

/** Closes the file also if its reader stops early. A read error ends the iteration. */
function* piecesOf(file: number): Generator<string> {
  try {
    const piece = Buffer.allocUnsafe(pieceBytes)
    for (;;) {
      const bytes = readSync(file, piece)
      if (bytes === 0) return
      yield piece.toString('latin1', 0, bytes)
    }
  } catch {
    return
  } finally {
    closeSync(file)
  }
}

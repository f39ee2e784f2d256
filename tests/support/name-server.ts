import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import type { Server } from 'node:net'

/** The answer to a name: addresses, `dead` for no reply at all, null for an unknown name. */
export type NameAnswer = readonly string[] | 'dead' | null

export interface NameServer {
  readonly port: number
  /** Requested names, in their original spelling. */
  readonly asked: string[]
  close(): void
}

/**
 * A real name server that answers A and AAAA queries over UDP, and also over TCP if a port is given. A TCP
 * connection counts as a query even if nothing is sent.
 */
export async function startNameServer(
  answerOf: (name: string) => NameAnswer,
  where: { readonly host?: string; readonly port?: number } = {},
): Promise<NameServer> {
  const requests: string[] = []
  const socket = createSocket('udp4')
  const replyTo = (query: Buffer): Buffer | null => {
    const { name, end } = nameIn(query)
    requests.push(name)
    return replyOf(query, end, answerOf(name))
  }
  socket.on('message', (query, sender) => {
    const reply = replyTo(query)
    if (reply !== null) socket.send(reply, sender.port, sender.address)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(where.port ?? 0, where.host ?? '127.0.0.1', () => resolve())
  })
  const { port } = socket.address()
  const overTcp =
    where.port === undefined ? null : await listenOverTcp(port, where.host, { asked: requests, replyTo })
  return {
    port,
    asked: requests,
    close: () => {
      socket.close()
      overTcp?.close()
    },
  }
}

async function listenOverTcp(
  port: number,
  host: string | undefined,
  { asked, replyTo }: { readonly asked: string[]; readonly replyTo: (query: Buffer) => Buffer | null },
): Promise<Server> {
  const server = createServer((line) => {
    asked.push(`a connection of ${line.remoteAddress ?? 'somebody'}`)
    line.on('error', () => line.destroy())
    // Each question arrives in one chunk here: its length, and the question itself.
    line.once('data', (framed: Buffer) => {
      const reply = replyTo(framed.subarray(2))
      if (reply === null) return void line.destroy()
      const length = Buffer.alloc(2)
      length.writeUInt16BE(reply.length, 0)
      line.end(Buffer.concat([length, reply]))
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host ?? '127.0.0.1', () => resolve())
  })
  return server
}

function replyOf(query: Buffer, end: number, answer: NameAnswer): Buffer | null {
  if (answer === 'dead') return null
  const isSix = query.readUInt16BE(end) === 28
  const addresses = (answer ?? []).filter((address) => address.includes(':') === isSix)
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(answer === null ? 0x8183 : 0x8180, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(addresses.length, 6)
  header.writeUInt32BE(0, 8)
  const records = addresses.map((address) => recordOf(address, isSix))
  return Buffer.concat([header, query.subarray(12, end + 4), ...records])
}

function nameIn(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.'), end: at + 1 }
}

/** A DNS record: a pointer to the question's name, type, class IN, TTL 0, the address. */
function recordOf(address: string, isSix: boolean): Buffer {
  const bytes = isSix ? sixBytes(address) : Buffer.from(address.split('.').map(Number))
  const head = Buffer.from([0xc0, 12, 0, isSix ? 28 : 1, 0, 1, 0, 0, 0, 0, 0, bytes.length])
  return Buffer.concat([head, bytes])
}

function sixBytes(address: string): Buffer {
  const [before = '', after] = address.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':').map((hex) => Number.parseInt(hex, 16)))
  const tail = after === undefined ? [] : groups(after)
  const head = groups(before)
  const all = [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 255]))
}

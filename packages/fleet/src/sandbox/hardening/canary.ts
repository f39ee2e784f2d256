import { readFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'

/** How long the mesh tries to connect to a target of the isolation check itself, in milliseconds. */
const reachTimeoutMs = 1_000

/** Listens on every IPv4 address of the host and sends a greeting; no sandbox must be able to reach this listener. */
export async function openCanary(): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.end('canary\n')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '0.0.0.0', resolve)
  })
  return {
    port: portOf(server.address()),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new TypeError('a TCP listener has a port')
  return address.port
}

/** Returns the host's IPv4 addresses without loopback. Bridges that are down are included; their addresses answer. */
export async function hostAddresses(): Promise<readonly string[]> {
  const table = await readFile('/proc/net/fib_trie', 'utf8').catch(() => '')
  const ofInterfaces = Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .filter((entry) => entry.family === 'IPv4' && !entry.internal)
    .map((entry) => entry.address)
  return [...new Set([...localAddresses(table), ...ofInterfaces])]
}

/** Returns the addresses that the kernel's routing trie lists as local, without loopback. Pure. */
export function localAddresses(trie: string): readonly string[] {
  const own = [...trie.matchAll(/\|-- (\d+\.\d+\.\d+\.\d+)\n\s+\/32 host LOCAL/g)].flatMap(
    (match) => match[1] ?? [],
  )
  return [...new Set(own)].filter((address) => !address.startsWith('127.'))
}

/** Returns whether this process can connect to `host:port` within a second. */
export function reaches(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    const settle = (reached: boolean) => {
      socket.destroy()
      resolve(reached)
    }
    socket.setTimeout(reachTimeoutMs, () => settle(false))
    socket.once('connect', () => settle(true))
    socket.once('error', () => settle(false))
  })
}

import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { networkInterfaces } from 'node:os'

/** A port of this machine that no agent may reach, with a counter of connections. */
export interface CanaryListener {
  readonly port: number
  /** IPv4 addresses of this machine on which the canary's port accepts connections. */
  readonly addresses: readonly string[]
  /** Number of accepted connections. */
  connections(): number
  close(): Promise<void>
}

const answersWithinMs = 3000

/**
 * Opens a port on all addresses of this machine and verifies that each accepts connections: if an agent then cannot
 * connect, isolation is the reason and not a closed port. Rejects when an address does not answer.
 */
export async function openCanaryListener(): Promise<CanaryListener> {
  const open = new Set<Socket>()
  let count = 0
  const server = createServer((socket) => {
    count += 1
    open.add(socket)
    socket.on('error', () => undefined).on('close', () => open.delete(socket))
    socket.end('canary\n')
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '0.0.0.0', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null)
    throw new Error('a listening TCP server has an address')
  const addresses = machineAddresses()
  for (const host of ['127.0.0.1', ...addresses]) await reach(host, address.port)
  return {
    port: address.port,
    addresses,
    connections: () => count,
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

/** The maximum number of addresses that an attempt uses: a machine can have hundreds of bridges. */
const addressesMax = 8

function machineAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return all
    .filter((entry) => entry.family === 'IPv4' && !entry.internal)
    .map((entry) => entry.address)
    .slice(0, addressesMax)
}

function reach(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: answersWithinMs })
    socket.once('connect', () => {
      socket.destroy()
      resolve()
    })
    socket.once('timeout', () =>
      socket.destroy(new Error(`${host}:${port} does not answer from this machine itself`)),
    )
    socket.once('error', reject)
  })
}

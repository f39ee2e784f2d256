import type { Server } from 'node:net'
import { linkedAgentOf } from './link/linked-sockets.ts'

export interface ConnectionBounds {
  /** The limit for one source address, or for one agent if the connection is opened with its key. */
  readonly perAddressMax: number
  readonly totalMax: number
  /** How many bytes the sender of a refused request may still send before the connection is closed. */
  readonly refusedMaxBytes: number
}

/** Idle sockets cost descriptors; a container, or a page, must not take all of the mesh's. */
export const connectionBounds: ConnectionBounds = {
  perAddressMax: 512,
  totalMax: 8192,
  refusedMaxBytes: 16 * 1024 * 1024,
}

/** Limits of containers: far below the total, so that one of them leaves room for all others. */
export const agentConnectionBounds: ConnectionBounds = {
  perAddressMax: 128,
  totalMax: 8192,
  refusedMaxBytes: 1024 * 1024,
}

/** Closes connections above the limits at once, before any of their bytes is read. */
export function boundConnections(
  server: Server,
  bounds: Pick<ConnectionBounds, 'perAddressMax' | 'totalMax'>,
): void {
  const open = new Map<string, number>()
  server.maxConnections = bounds.totalMax
  server.prependListener('connection', (socket) => {
    const address = linkedAgentOf(socket) ?? socket.remoteAddress ?? ''
    const count = (open.get(address) ?? 0) + 1
    open.set(address, count)
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1
      if (left > 0) open.set(address, left)
      else open.delete(address)
    })
    if (count > bounds.perAddressMax) socket.destroy()
  })
}

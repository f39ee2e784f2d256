import type { Server as HttpServer } from 'node:http'
import { createServer } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { agentLinkServer } from '@flotilla/protocol/agent-link'
import { createRoster } from '@flotilla/foundation/platform'
import type { Log } from '@flotilla/foundation/platform'
import { boundConnections } from '../bound-connections.ts'
import type { ConnectionBounds } from '../bound-connections.ts'
import { linkSocket } from './linked-sockets.ts'

/** The fraction of all connections that one address may have before it has shown a key. */
const sharesOfAddress = 4

/** Finds the agent and key of an identity; null if it may not connect. */
export type LinkKeyOf = (identity: string) => { readonly agentId: string; readonly key: Uint8Array } | null

export interface LinkedListener {
  /** Rejects when the port is taken. */
  listen(where: { readonly port: number; readonly host: string }): Promise<void>
  port(): number
  close(): Promise<void>
}

/**
 * Accepts connections of agents on other machines for `server`, which does not listen itself. The only authentication
 * is the key of the agent's last start. `linkedAgentOf` returns the agent of a connection.
 */
export function createLinkedListener(deps: {
  readonly server: HttpServer
  readonly keyOf: LinkKeyOf
  readonly bounds: ConnectionBounds
  readonly log: Log
}): LinkedListener {
  const open = createRoster<TLSSocket>()
  const shown = new WeakMap<TLSSocket, string>()
  const listener = createServer(
    agentLinkServer((socket: TLSSocket, identity) => {
      const found = deps.keyOf(identity)
      if (found) shown.set(socket, found.agentId)
      return found?.key ?? null
    }),
    (socket) => {
      const agentId = shown.get(socket)
      // The session was resumed with a ticket of an earlier connection, whose key may no longer be valid.
      if (agentId === undefined) return void socket.destroy()
      linkSocket(socket, agentId)
      socket.once('close', open.join(socket))
      deps.server.emit('connection', socket)
    },
  )
  // Nodes may replace the addresses of their pods by their own, so an agent's connections are counted by its key.
  boundConnections(listener, { ...deps.bounds, perAddressMax: deps.bounds.totalMax / sharesOfAddress })
  listener.on('tlsClientError', (error, { remoteAddress }) => {
    deps.log.debug({ remoteAddress, err: error }, 'rejected a connection without the key of an agent')
  })

  return {
    listen: ({ port, host }) =>
      new Promise((resolve, reject) => {
        listener.once('error', reject)
        listener.listen(port, host, () => {
          listener.off('error', reject)
          // Makes Node close slow connections.
          deps.server.emit('listening')
          resolve()
        })
      }),
    port: () => {
      const address = listener.address()
      return typeof address === 'object' && address !== null ? address.port : 0
    },
    close: async () => {
      if (!listener.listening) return
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()))
      for (const socket of open.members()) socket.destroy()
      await closed
    },
  }
}

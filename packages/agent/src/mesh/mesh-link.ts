import type { Server } from 'node:http'
import { createServer as createRelay } from 'node:net'
import type { Server as Listener, Socket } from 'node:net'
import { connect, createServer } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { agentLinkClient, agentLinkServer } from '@flotilla/protocol/agent-link'
import type { AgentLinkKey } from '@flotilla/protocol/agent-link'

/** Number of programs that use the mesh concurrently; the mesh accepts as many connections of one agent. */
const relayedMax = 128
const loopback = '127.0.0.1'

/** Address of the agent API. */
export interface MeshPlace {
  readonly host: string
  readonly port: number
}

export interface MeshLink {
  /** A connection to the agent API. */
  dial(): TLSSocket
  /** Makes `server` answer the mesh and no other client. */
  listen(server: Server, where: { readonly port: number; readonly host: string }): Listener
  /**
   * Lets programs of the agent connect to the listeners of the mesh at these loopback ports. Resolves once they can.
   */
  relay(ports: readonly number[]): Promise<void>
  close(): void
}

/** The agent's half of the connections to a mesh on another machine; see `agent-link` of the protocol. */
export function createMeshLink(link: AgentLinkKey & { readonly mesh: MeshPlace }): MeshLink {
  const client = agentLinkClient(link)
  const listeners: Listener[] = []
  const dial = (port: number): TLSSocket => {
    const options = { host: link.mesh.host, port, allowHalfOpen: true, ...client }
    return connect(options)
  }

  async function relayPort(port: number): Promise<void> {
    const relay = createRelay({ allowHalfOpen: true }, (near) => join(near, dial(port)))
    relay.maxConnections = relayedMax
    listeners.push(relay)
    await new Promise<void>((resolve, reject) => {
      relay.once('error', reject)
      relay.listen(port, loopback, resolve)
    })
  }

  return {
    dial: () => dial(link.mesh.port),

    listen(server, { port, host }) {
      const keyOf = (_: TLSSocket, identity: string) => (identity === link.identity ? link.key : null)
      const listener = createServer(agentLinkServer(keyOf), (socket) => server.emit('connection', socket))
      listeners.push(listener)
      // This event starts Node's check for slow connections, which `server` does not start without a port.
      listener.on('listening', () => server.emit('listening'))
      return listener.listen({ port, ...(host === '' ? {} : { host }) })
    },

    relay: async (ports) => {
      await Promise.all(ports.map(relayPort))
    },

    close() {
      for (const listener of listeners) listener.close()
    },
  }
}

/** Joins two sockets: each may write on after the other side ended, and is destroyed when the other closes. */
function join(near: Socket, far: Socket): void {
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
    one.pipe(other)
  }
}

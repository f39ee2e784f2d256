import type { FastifyInstance } from 'fastify'
import { agentConnectionBounds, createLinkedListener } from '@flotilla/identity/http'
import type { Composed } from './compose.ts'
import type { Listener } from './listen.ts'
import { portOf } from './open-servers.ts'

export interface AgentListener extends Listener {
  /** Returns the port of the agent API, known once the API listens. */
  port(): number
  close(): Promise<void>
}

/**
 * Creates the servers that agents reach: the API and the forward proxy. If agents run on other machines, a key
 * authenticates each connection.
 */
export function agentListeners(
  { runtime, contexts, kernel: { log } }: Composed,
  server: FastifyInstance,
): { readonly agents: AgentListener; readonly proxy: AgentListener } {
  const { proxy } = contexts.egress.outbound
  const agents: AgentListener = {
    listen: (at) => server.listen(at),
    port: () => portOf(server),
    close: () => server.close(),
  }
  if (!runtime.crossesMachines) return { agents, proxy }
  const keyOf = contexts.fleet.agents.connection.findLink
  const linked = (inner: Pick<AgentListener, 'close'> & { readonly server: FastifyInstance['server'] }) => {
    const listener = createLinkedListener({ server: inner.server, keyOf, bounds: agentConnectionBounds, log })
    const close = async (): Promise<void> => {
      await listener.close()
      await inner.close()
    }
    return { ...listener, close }
  }
  const listener = linked({ server: server.server, close: agents.close })
  return {
    agents: {
      ...listener,
      listen: async (at) => {
        await server.ready()
        await listener.listen(at)
      },
    },
    proxy: linked(proxy),
  }
}

import type { FastifyInstance } from 'fastify'
import { agentConnectionBounds, createLinkedDoor } from '../http/index.ts'
import type { Composed } from './compose.ts'
import type { Door } from './listen.ts'
import { portOf } from './open-servers.ts'

export interface AgentDoor extends Door {
  /** Known once it listens. */
  port(): number
  close(): Promise<void>
}

/** What agents reach, the door and the forward proxy: over keyed lines where they live on other machines. */
export function agentDoors(
  { runtime, modules, kernel: { log } }: Composed,
  server: FastifyInstance,
): { readonly agents: AgentDoor; readonly proxy: AgentDoor } {
  const { proxy } = modules.egress.api
  const agents: AgentDoor = {
    listen: (at) => server.listen(at),
    port: () => portOf(server),
    close: () => server.close(),
  }
  if (!runtime.crossesMachines) return { agents, proxy }
  const keyOf = modules.agents.api.connection.findLink
  const linked = (inner: Pick<AgentDoor, 'close'> & { readonly server: FastifyInstance['server'] }) => {
    const door = createLinkedDoor({ server: inner.server, keyOf, bounds: agentConnectionBounds, log })
    const close = async (): Promise<void> => {
      await door.close()
      await inner.close()
    }
    return { ...door, close }
  }
  const door = linked({ server: server.server, close: agents.close })
  return {
    agents: {
      ...door,
      listen: async (at) => {
        await server.ready()
        await door.listen(at)
      },
    },
    proxy: linked(proxy),
  }
}

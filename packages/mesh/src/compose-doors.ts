import { existsSync, readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { agentRoutes } from './api/agent/agent.routes.ts'
import { createAgentGate } from './api/agent/gate.ts'
import { modelRoutes } from './api/agent/model.routes.ts'
import { fleetRoutes } from './api/human/fleet.routes.ts'
import { createHumanGate } from './api/human/gate.ts'
import { runRoutes } from './api/human/run.routes.ts'
import { internalRoutes } from './api/internal/internal.routes.ts'
import { publicRoutes } from './api/public/public.routes.ts'
import { createServer } from './api/server.ts'
import type { MeshParts } from './compose.ts'
import {
  agentUseCases,
  fleetUseCases,
  internalUseCases,
  readiness,
  runUseCases,
} from './compose-use-cases.ts'
import { systemClock } from './system-clock.ts'
import { productVersion } from './version.ts'
import { Problem } from '@flotilla/protocol/problem'

/** Its presence means that a hosted front end stands before this machine. */
const accessTokenPath = '/opt/flotilla/.access_token'

/** People, probes and this machine's own programs, on loopback. */
export function humanDoor(parts: MeshParts): FastifyInstance {
  const server = createServer(parts.log)
  const gate = createHumanGate({
    clock: systemClock,
    accessToken: () => (existsSync(accessTokenPath) ? readFileSync(accessTokenPath, 'utf8').trim() : null),
    port: () => portOf(server),
  })
  server.register(async (scope) =>
    publicRoutes(scope, { version: productVersion, readiness: () => readiness(parts) }),
  )
  server.register(async (scope) => fleetRoutes(scope, { gate, use: fleetUseCases(parts) }))
  server.register(async (scope) => runRoutes(scope, { gate, use: runUseCases(parts), events: parts.events }))
  server.register(async (scope) => internalRoutes(scope, internalUseCases(parts)))
  return server
}

/** Containers, on the private network's gateway. */
export function agentDoor(parts: MeshParts): FastifyInstance {
  const { fleet, ledger, modelDoor, effects } = parts
  const server = createServer(parts.log)
  const gate = createAgentGate({
    verifyToken: fleet.verifyToken,
    ticketOf: (agentId, runId, fence) => {
      const ticket = ledger.live.ticketOf(runId, fence)
      // Another agent's run looks like one that is over.
      if (ticket.agentId !== agentId) throw new Problem('stale-fence')
      return ticket
    },
    liveRunOf: ledger.live.liveRunOf,
  })
  server.register(async (scope) => agentRoutes(scope, { gate, effects, use: agentUseCases(parts) }))
  server.register(async (scope) =>
    modelRoutes(scope, {
      gate,
      use: {
        complete: (caller, body, signal) => modelDoor.complete(caller, { body, signal }),
        listModels: modelDoor.listModels,
      },
    }),
  )
  return server
}

export function portOf(server: FastifyInstance): number {
  const address = server.server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

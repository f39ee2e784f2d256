import type { FastifyInstance } from 'fastify'
import { agentRoutes } from './agent.routes.ts'
import { createAgentGate } from '../http/gates/agent-gate.ts'
import { mcpAgentRoutes } from '../egress/mcp/agent.routes.ts'
import { modelRoutes } from '../models/gateway/model.routes.ts'
import { cronAgentRoutes } from '../triggers/cron/agent.routes.ts'
import { skillRoutes } from '../skills/agent.routes.ts'
import { toolRoutes } from '../introspection/agent.routes.ts'
import { vaultAgentRoutes } from '../credentials/agent.routes.ts'
import { credentialRoutes } from '../credentials/people.routes.ts'
import { chatSessionRoutes } from '../runs/chat-session.routes.ts'
import { cronRoutes } from '../triggers/cron/people.routes.ts'
import { controlRoutes } from '../control/control.routes.ts'
import { fleetRoutes } from '../control/fleet.routes.ts'
import { heartbeatRoutes } from '../triggers/heartbeat/people.routes.ts'
import { createHumanGate } from '../http/gates/people-gate.ts'
import type { HumanGate } from '../http/gates/people-gate.ts'
import { mcpHumanRoutes } from '../agents/people.routes.ts'
import { pauseRoutes } from '../control/pauses/people.routes.ts'
import { modelsRoutes } from '../models/people.routes.ts'
import { journalRoutes } from '../diagnostics/journal.routes.ts'
import { moneyRoutes } from '../spending/people.routes.ts'
import { runRoutes } from '../runs/people.routes.ts'
import { webhookHumanRoutes } from '../triggers/webhook/people.routes.ts'
import { watchRoutes } from '../triggers/watch/people.routes.ts'
import type { DirectCallDeps } from '../http/gates/direct-call.ts'
import { createInternalGate } from '../http/gates/internal-gate.ts'
import type { OwnHome } from '../http/gates/meant-home.ts'
import { createPeerUsers } from '../http/gates/peer-user.ts'
import { readAccessToken } from '../config/access-token.ts'
import { internalRoutes } from '../diagnostics/internal.routes.ts'
import { operatorArchiveRoutes } from '../control/archive.routes.ts'
import { operatorRoutes } from '../control/operator.routes.ts'
import { operatorViewRoutes } from '../diagnostics/operator.routes.ts'
import { publicRoutes } from '../diagnostics/public.routes.ts'
import { webhookRoutes } from '../triggers/webhook/public.routes.ts'
import { answerHeaders } from '../http/answer-headers.ts'
import { agentConnectionBounds, connectionBounds } from '../http/bound-connections.ts'
import { openAgents, openInternal, openPeople, openPublic } from '../http/open-surfaces.ts'
import { createServer } from '../http/server.ts'
import { cronAgentUseCases, cronHumanUseCases } from './compose-cron.ts'
import { inEnvFile } from './compose-listen.ts'
import type { ListenAt } from './compose-listen.ts'
import type { MeshParts } from './compose-parts.ts'
import { heartbeatUseCases } from './compose-heartbeat.ts'
import { journalUseCases, moneyUseCases } from './compose-money.ts'
import {
  controlUseCases,
  operatorArchiveUseCases,
  operatorUseCases,
  operatorViewUseCases,
} from './compose-control-use-cases.ts'
import {
  agentUseCases,
  fleetUseCases,
  internalUseCases,
  readiness,
  runUseCases,
} from './compose-use-cases.ts'
import { toolUseCases } from './compose-tools.ts'
import { rateBucketOf } from '@flotilla/protocol/rate-buckets'
import { mcpUseCases } from './compose-mcp.ts'
import { createCheckInThread } from '../skills/check-in-thread.ts'
import { createSkillCheck } from '../skills/create-skill-check.ts'
import { credentialUseCases, vaultAgentUseCases } from './compose-vault-doors.ts'
import { webhookHumanUseCases, webhookUseCases } from './compose-webhooks.ts'
import { watchUseCases } from './compose-watch.ts'
import { createChatSessions } from '../runs/delivery/chat-sessions.ts'
import { systemClock } from '../platform/system-clock.ts'
import { productVersion } from '../platform/version.ts'
import { accessTokenPath } from '@flotilla/protocol/hosted'
import { Problem } from '@flotilla/protocol/problem'

/** People, probes and this machine's own programs, on loopback. */
export function humanDoor(parts: MeshParts): FastifyInstance {
  const server = createServer(parts.log, connectionBounds, answerHeaders)
  const { uid } = parts.context
  const direct: DirectCallDeps = {
    port: () => portOf(server),
    userOf: createPeerUsers(),
    isOwner: (user) => user === uid || user === 0 || parts.settings.current().local_users.includes(user),
  }
  const home = ownHome(parts)
  const gate = createHumanGate({ clock: systemClock, accessToken: readAccessToken, home, direct })
  peopleRoutes(server, parts, gate)
  const internal = createInternalGate(direct, home)
  openInternal(server, parts.modules, internal)
  server.register(async (scope) => internalRoutes(scope, { gate: internal, use: internalUseCases(parts) }))
  server.register(async (scope) =>
    operatorViewRoutes(scope, {
      identify: internal,
      admit: async (request) => void internal(request),
      use: operatorViewUseCases(parts),
    }),
  )
  server.register(async (scope) =>
    operatorArchiveRoutes(scope, {
      identify: internal,
      admit: async (request) => void internal(request),
      use: operatorArchiveUseCases(parts),
    }),
  )
  return server
}

/**
 * The same for other machines, where the owner binds it: a session's cookie is the only way in, and nothing internal is
 * there. Problem `not-configured` where no access token could ever let anybody in. Resolves to what closes it.
 */
export async function openOutside(
  parts: MeshParts,
  listen: (server: FastifyInstance, at: ListenAt) => Promise<void>,
): Promise<() => Promise<void>> {
  const { publicBind } = parts.context.environment
  if (publicBind === null) return async () => {}
  if (readAccessToken() === null) {
    throw new Problem('not-configured', {
      detail: `FLOTILLA_PUBLIC_BIND wants ${accessTokenPath}, whose sessions are the only way in from outside; write a random token into it (mode 0600), or unset FLOTILLA_PUBLIC_BIND`,
    })
  }
  const server = createServer(parts.log, connectionBounds, answerHeaders)
  const gate = createHumanGate({
    clock: systemClock,
    accessToken: readAccessToken,
    home: ownHome(parts),
    direct: null,
  })
  peopleRoutes(server, parts, gate)
  await listen(server, { ...publicBind, otherwise: inEnvFile('FLOTILLA_PUBLIC_BIND') })
  parts.ports.open.push(portOf(server))
  parts.log.info({ host: publicBind.host, port: portOf(server) }, 'people on other machines are served')
  return () => server.close()
}

function ownHome({ homeId, paths }: MeshParts): OwnHome {
  return { id: homeId, folder: paths.home }
}

function peopleRoutes(server: FastifyInstance, parts: MeshParts, gate: HumanGate): void {
  openPublic(server, parts.modules)
  openPeople(server, parts.modules, { gate, keepAliveMs: parts.modelDoor.keepAliveMs })
  server.register(async (scope) =>
    publicRoutes(scope, { version: productVersion, readiness: () => readiness(parts) }),
  )
  server.register(async (scope) =>
    webhookRoutes(scope, { use: webhookUseCases(parts.webhooks), clock: systemClock }),
  )
  server.register(async (scope) =>
    webhookHumanRoutes(scope, { gate, use: webhookHumanUseCases(parts.webhooks) }),
  )
  server.register(async (scope) => fleetRoutes(scope, { gate, use: fleetUseCases(parts) }))
  server.register(async (scope) => moneyRoutes(scope, { gate, use: moneyUseCases(parts) }))
  server.register(async (scope) => journalRoutes(scope, { gate, use: journalUseCases(parts) }))
  server.register(async (scope) =>
    runRoutes(scope, {
      gate,
      use: runUseCases(parts),
      events: parts.events,
      keepAliveMs: parts.modelDoor.keepAliveMs,
    }),
  )
  server.register(async (scope) => chatSessionRoutes(scope, { gate, use: createChatSessions(parts) }))
  server.register(async (scope) => modelsRoutes(scope, { gate, use: { models: parts.modelDoor.models } }))
  server.register(async (scope) =>
    credentialRoutes(scope, { gate, use: credentialUseCases(parts.vaultRoom) }),
  )
  server.register(async (scope) => pauseRoutes(scope, { gate, use: parts.pauses }))
  server.register(async (scope) => cronRoutes(scope, { gate, use: cronHumanUseCases(parts) }))
  server.register(async (scope) => controlRoutes(scope, { gate, use: controlUseCases(parts) }))
  server.register(async (scope) => mcpHumanRoutes(scope, { gate, use: mcpUseCases(parts) }))
  server.register(async (scope) =>
    heartbeatRoutes(scope, {
      gate,
      use: heartbeatUseCases(parts),
      keepAliveMs: parts.modelDoor.keepAliveMs,
    }),
  )
  server.register(async (scope) => watchRoutes(scope, { gate, use: watchUseCases(parts.watch) }))
}

/** Containers, on the private network's gateway. */
export function agentDoor(parts: MeshParts): FastifyInstance {
  const { fleet, ledger, modelDoor, effects, rates, guard, shares } = parts
  const server = createServer(parts.log, agentConnectionBounds)
  const gate = createAgentGate({
    verifyToken: fleet.verifyToken,
    ticketOf: (agentId, runId, fence) => {
      const ticket = ledger.live.ticketOf(runId, fence)
      // Another agent's run looks like one that is over.
      if (ticket.agentId !== agentId) throw new Problem('stale-fence')
      return ticket
    },
    liveRunOf: ledger.live.liveRunOf,
    readingOn: modelDoor.readOn.openOf,
    countCall: (agentId, method, path) => rates.take(agentId, rateBucketOf(method, path)),
    guard,
    loop: shares.calls,
    held: shares.held.calls,
  })
  openAgents(server, parts.modules, { gate, effects })
  server.register(async (scope) => agentRoutes(scope, { gate, effects, use: agentUseCases(parts) }))
  server.register(async (scope) => operatorRoutes(scope, { gate, effects, use: operatorUseCases(parts) }))
  server.register(async (scope) =>
    operatorViewRoutes(scope, {
      identify: gate.doorOnly,
      admit: gate.admitToDoor,
      use: operatorViewUseCases(parts),
    }),
  )
  server.register(async (scope) =>
    operatorArchiveRoutes(scope, {
      identify: gate.doorOnly,
      admit: gate.admitToDoor,
      use: operatorArchiveUseCases(parts),
    }),
  )
  server.register(async (scope) =>
    vaultAgentRoutes(scope, { gate, effects, use: vaultAgentUseCases(parts.vaultRoom) }),
  )
  server.register(async (scope) =>
    mcpAgentRoutes(scope, { gate, use: { exchange: parts.egress.exchangeWithServer } }),
  )
  server.register(async (scope) => toolRoutes(scope, { gate, use: toolUseCases(parts) }))
  server.register(async (scope) => cronAgentRoutes(scope, { gate, effects, use: cronAgentUseCases(parts) }))
  server.register(async (scope) =>
    skillRoutes(scope, {
      gate,
      use: { check: createSkillCheck({ ...parts, checkSource: createCheckInThread() }) },
    }),
  )
  server.register(async (scope) =>
    modelRoutes(scope, {
      gate,
      use: modelDoor,
    }),
  )
  return server
}

export function portOf(server: FastifyInstance): number {
  const address = server.server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

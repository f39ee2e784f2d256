import type { FastifyInstance } from 'fastify'
import { agentRoutes } from './api/agent/agent.routes.ts'
import { createAgentGate } from './api/agent/gate.ts'
import { mcpAgentRoutes } from './api/agent/mcp.routes.ts'
import { modelRoutes } from './api/agent/model.routes.ts'
import { actionOf } from './api/agent/route-actions.ts'
import { takeBodies } from './api/agent/take-bodies.ts'
import { cronAgentRoutes } from './api/agent/cron.routes.ts'
import { skillRoutes } from './api/agent/skill.routes.ts'
import { toolRoutes } from './api/agent/tool.routes.ts'
import { topicAgentRoutes } from './api/agent/topic.routes.ts'
import { vaultAgentRoutes } from './api/agent/vault.routes.ts'
import { credentialRoutes } from './api/human/credential.routes.ts'
import { chatSessionRoutes } from './api/human/chat-session.routes.ts'
import { cronRoutes } from './api/human/cron.routes.ts'
import { controlRoutes } from './api/human/control.routes.ts'
import { fleetRoutes } from './api/human/fleet.routes.ts'
import { heartbeatRoutes } from './api/human/heartbeat.routes.ts'
import { createHumanGate } from './api/human/gate.ts'
import type { HumanGate } from './api/human/gate.ts'
import { mcpHumanRoutes } from './api/human/mcp.routes.ts'
import { pauseRoutes } from './api/human/pause.routes.ts'
import { modelsRoutes } from './api/human/models.routes.ts'
import { journalRoutes } from './api/human/journal.routes.ts'
import { moneyRoutes } from './api/human/money.routes.ts'
import { runRoutes } from './api/human/run.routes.ts'
import { webhookHumanRoutes } from './api/human/webhook.routes.ts'
import { topicRoutes } from './api/human/topic.routes.ts'
import { watchRoutes } from './api/human/watch.routes.ts'
import type { DirectCallDeps } from './api/direct-call.ts'
import { createInternalGate } from './api/internal/gate.ts'
import type { OwnHome } from './api/meant-home.ts'
import { createPeerUsers } from './api/peer-user.ts'
import { readAccessToken } from './config/access-token.ts'
import { internalRoutes } from './api/internal/internal.routes.ts'
import { operatorArchiveRoutes } from './api/operator/archive.routes.ts'
import { operatorRoutes } from './api/operator/operator.routes.ts'
import { operatorViewRoutes } from './api/operator/view.routes.ts'
import { publicRoutes } from './api/public/public.routes.ts'
import { webhookRoutes } from './api/public/webhook.routes.ts'
import { answerHeaders } from './api/answer-headers.ts'
import { agentConnectionBounds, connectionBounds } from './api/bound-connections.ts'
import { createServer } from './api/server.ts'
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
import { createCheckInThread } from './skills/check-in-thread.ts'
import { createSkillCheck } from './skills/create-skill-check.ts'
import { credentialUseCases, vaultAgentUseCases } from './compose-vault-doors.ts'
import { webhookHumanUseCases, webhookUseCases } from './compose-webhooks.ts'
import { topicAgentUseCases, topicHumanUseCases } from './compose-topics.ts'
import { watchUseCases } from './compose-watch.ts'
import { createChatSessions } from './runs/chat-sessions.ts'
import { systemClock } from './system-clock.ts'
import { productVersion } from './version.ts'
import { accessTokenPath } from '@flotilla/protocol/hosted'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { readJsonBody } from './intake/read-json.ts'

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
  parts.openPorts.push(portOf(server))
  parts.log.info({ host: publicBind.host, port: portOf(server) }, 'people on other machines are served')
  return () => server.close()
}

function ownHome({ homeId, paths }: MeshParts): OwnHome {
  return { id: homeId, folder: paths.home }
}

function peopleRoutes(server: FastifyInstance, parts: MeshParts, gate: HumanGate): void {
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
  server.register(async (scope) => topicRoutes(scope, { gate, use: topicHumanUseCases(parts) }))
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
    allowCall: (caller, call) => {
      const action = actionOf(call)
      if (action !== null) guard(caller, action)
    },
    loop: shares.calls,
    held: shares.held.calls,
  })
  takeBodies(server, gate, (body) => readJsonBody(body, jsonLimits.body))
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
  server.register(async (scope) => topicAgentRoutes(scope, { gate, effects, use: topicAgentUseCases(parts) }))
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

import type { FastifyInstance } from 'fastify'
import { accessTokenPath } from '@flotilla/protocol/hosted'
import { Problem } from '@flotilla/protocol/problem'
import { rateBucketOf } from '@flotilla/protocol/rate-buckets'
import { readAccessToken } from '@flotilla/foundation/config'
import {
  agentConnectionBounds,
  answerHeaders,
  connectionBounds,
  createAgentGate,
  createHumanGate,
  createInternalGate,
  createPeerUsers,
  createServer,
  openAgents,
  openInternal,
  openPeople,
  openPublic,
} from '@flotilla/identity/http'
import type { DirectCallDeps, HumanGate, OwnHome } from '@flotilla/identity/http'
import type { MeshModule } from '@flotilla/identity/kernel'
import { systemClock } from '@flotilla/foundation/platform'
import { inEnvFile } from './listen.ts'
import type { ListenAt } from './listen.ts'
import type { Composed } from './compose.ts'

/** Creates the server for people, probes and local programs, on loopback. */
export function peopleServer(parts: Composed): FastifyInstance {
  const { kernel } = parts
  const home = ownHome(parts)
  const server = createServer(kernel.log, connectionBounds, answerHeaders)
  const { uid } = parts.context
  const direct: DirectCallDeps = {
    port: () => portOf(server),
    userOf: createPeerUsers(),
    isOwner: (user) => user === uid || user === 0 || kernel.settings().local_users.includes(user),
  }
  const people = parts.contexts.identity.people
  serve(
    server,
    parts,
    createHumanGate({ clock: systemClock, accessToken: readAccessToken, home, direct, people }),
  )
  openInternal(server, modulesOf(parts), createInternalGate(direct, home))
  return server
}

/**
 * Opens the server for other machines, if the owner configures an address. It requires a session cookie and has no
 * internal routes. Problem `not-configured` without an access token. Resolves to the function that closes it.
 */
export async function openOutside(
  parts: Composed,
  listen: (server: FastifyInstance, at: ListenAt) => Promise<void>,
): Promise<() => Promise<void>> {
  const { publicBind } = parts.context.environment
  if (publicBind === null) return async () => {}
  if (readAccessToken() === null) {
    throw new Problem('not-configured', {
      detail: `FLOTILLA_PUBLIC_BIND is set, but the file ${accessTokenPath}, which checks people on other machines, does not exist; write a random token into that file (mode 0600), or unset FLOTILLA_PUBLIC_BIND`,
    })
  }
  const { log, ports } = parts.kernel
  const server = createServer(log, connectionBounds, answerHeaders)
  const home = ownHome(parts)
  serve(
    server,
    parts,
    createHumanGate({
      clock: systemClock,
      accessToken: readAccessToken,
      home,
      direct: null,
      people: parts.contexts.identity.people,
    }),
  )
  await listen(server, { ...publicBind, otherwise: inEnvFile('FLOTILLA_PUBLIC_BIND') })
  ports.open.push(portOf(server))
  log.info({ host: publicBind.host, port: portOf(server) }, 'the mesh listens for people on other machines')
  return () => server.close()
}

function serve(server: FastifyInstance, parts: Composed, gate: HumanGate): void {
  openPublic(server, modulesOf(parts))
  const { guard } = parts.kernel
  const { downloads } = parts.access
  const { people } = parts.contexts.identity
  const { keepAliveMs } = parts.contexts.inference.models
  const surface = { gate, guard, people, keepAliveMs, downloads, clock: systemClock }
  openPeople(server, modulesOf(parts), surface)
}

function modulesOf({ modules }: Composed): readonly MeshModule[] {
  return modules.map(([, module]) => module)
}

function ownHome({ homeId, paths }: Composed): OwnHome {
  return { id: homeId, folder: paths.home }
}

/** Creates the server for containers, on the gateway address of the private network. */
export function agentServer(parts: Composed): FastifyInstance {
  const { kernel, contexts } = parts
  const { effects, shares } = parts.foundation
  const { rates } = parts.access
  const { live } = contexts.work.runs.lifecycle
  const server = createServer(kernel.log, agentConnectionBounds)
  const gate = createAgentGate({
    verifyToken: contexts.fleet.agents.connection.verifyToken,
    ticketOf: (agentId, runId, fence) => {
      const ticket = live.ticketOf(runId, fence)
      // A run of another agent gives the same problem as a run that has ended.
      if (ticket.agentId !== agentId) throw new Problem('stale-fence')
      return ticket
    },
    liveRunOf: live.liveRunOf,
    readingOn: contexts.inference.models.readingOn,
    countCall: (agentId, method, path) => rates.take(agentId, rateBucketOf(method, path)),
    guard: kernel.guard,
    loop: shares.calls,
    held: shares.held.calls,
  })
  openAgents(server, modulesOf(parts), { gate, effects })
  return server
}

export function portOf(server: FastifyInstance): number {
  const address = server.server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import type { PermissionGrants } from '@flotilla/identity/access'
import type { SandboxRuntime } from '../sandbox/index.ts'
import { createBriefings } from './briefing/briefings.ts'
import type { AgentConnections } from './connection/agent-connection.ts'
import { createAgentHttp } from './connection/agent-http.ts'
import type { ReplyShares } from './connection/agent-line.ts'
import { createAgentLinks } from './connection/agent-links.ts'
import type { AgentLinks } from './connection/agent-links.ts'
import { createAgentTokens } from './connection/agent-tokens.ts'
import type { TokenOwner } from './connection/agent-tokens.ts'
import type { MeshIdentity } from './connection/mesh-identity.ts'
import type { AgentContext, FleetSettings, LiveSandboxes } from './lifecycle/agent-context.ts'
import { createMachineRoom } from './lifecycle/machine-room.ts'
import type { MachineRoom } from './lifecycle/machine-room.ts'
import { createAgentPackages } from './lifecycle/agent-packages.ts'
import type { AgentPackages } from './lifecycle/agent-packages.ts'
import type { AgentPlacing } from './lifecycle/agent-placing.ts'
import { programSetupOf } from './lifecycle/program-setup.ts'
import { troubleOf } from './registry/agent-state.ts'
import { createAgentMutex } from './lifecycle/agent-mutex.ts'
import { createAgentConnections } from './lifecycle/ensure-running.ts'
import type { Isolation, Reach } from './lifecycle/ensure-running.ts'
import { createFleetLifecycle } from './administration/fleet-lifecycle.ts'
import type { FleetLifecycle } from './administration/fleet-lifecycle.ts'
import { createDataMeter } from './lifecycle/meter-data.ts'
import { createAgentStarts } from './lifecycle/start-agent.ts'
import { createAgentAdmin } from './administration/agent-admin.ts'
import type { AgentAdmin } from './administration/agent-admin.ts'
import { createAgentRegistry } from './administration/agent-registry.ts'
import type { AgentRegistry } from './administration/agent-registry.ts'
import { createAgentTable } from './registry/agent-table.ts'
import type { AgentMove } from './registry/agent-table.ts'
import type { RequireModel } from './administration/create-agent.ts'
import { createMcpServerTable } from './registry/mcp-server-table.ts'
import { createSeedFiles } from './connection/seed-files.ts'
import type { FleetKernel, WorkFeedback } from '../events/index.ts'

export interface FleetDeps extends Omit<FleetKernel, 'settings' | 'identityEvents'>, FleetSettings {
  readonly permissionsOf: (agentId: string) => PermissionRecord | null
  readonly grants: PermissionGrants
  readonly runtime: SandboxRuntime
  readonly briefsFolder: string
  readonly meshIdentity: MeshIdentity
  /** Limits the memory and the event loop time of the mesh that the replies of each agent may use. */
  readonly replies: ReplyShares
  readonly requireModel: RequireModel
  readonly projectText: (agentId: string) => string
  /** Returns the feedback on the agent's work, which the agent adds to its learnings. */
  readonly feedbackFor: (agentId: string) => readonly WorkFeedback[]
  readonly isolation: Isolation
  readonly placing: AgentPlacing
  /** The folder of the lock files of packages. */
  readonly locksFolder: string
}

/** Connects other modules to agents, and authenticates agents by their tokens. */
export interface FleetConnection extends AgentConnections, Reach {
  /** Returns the agent that owns a valid agent token; null for any other text. */
  readonly verifyToken: (token: string) => TokenOwner | null
  /** Finds the start of an agent that connects to a mesh API over a keyed connection. */
  readonly findLink: AgentLinks['find']
}

/** The fleet, grouped by use case. */
export interface Fleet {
  readonly registry: AgentRegistry
  readonly admin: AgentAdmin
  readonly lifecycle: FleetLifecycle
  readonly connection: FleetConnection
  readonly briefing: AgentBriefing
  readonly packages: AgentPackages
  readonly room: Pick<MachineRoom, 'capacity' | 'requirePossible'>
}

/** The bootstrap files about an agent and the mesh. */
export interface AgentBriefing {
  /** Rewrites SYSTEM.md of running agents, e.g. after permissions changed. */
  refreshBriefings(): Promise<void>
}

export function createFleet(deps: FleetDeps): Fleet {
  const context = createContext(deps)
  const { sandboxes, tokens, briefings } = context
  const meter = createDataMeter(context)
  const starts = createAgentStarts(context, meter)
  const shared = { ...deps, context, starts, meter }
  deps.fleetEvents.agentDeleted.subscribe((agentId) => {
    const { links, connect: _connect, endpoint: _endpoint, ...known } = sandboxes
    links.forget(agentId)
    for (const byAgent of Object.values(known)) byAgent.delete(agentId)
  })
  return {
    registry: createAgentRegistry(context, deps),
    admin: createAgentAdmin(shared),
    lifecycle: createFleetLifecycle(shared),
    connection: {
      ...createAgentConnections(context, starts, deps),
      verifyToken: (token) => tokens.verify(token),
      findLink: sandboxes.links.find,
    },
    briefing: { refreshBriefings: () => briefings.refresh() },
    packages: context.packages,
    room: context.room,
  }
}

function createContext(deps: FleetDeps): AgentContext {
  const agents = createAgentTable(deps.database, (move) => announceMove(deps, move))
  const mcpServers = createMcpServerTable(deps.database)
  const links = createAgentLinks({
    agents,
    identity: deps.meshIdentity,
    crossesMachines: deps.runtime.crossesMachines,
  })
  const sandboxes = noSandboxes(deps, links)
  return {
    ...deps,
    agents,
    mcpServers,
    seedFiles: createSeedFiles(deps),
    tokens: createAgentTokens({ ...deps, agents }),
    mutex: createAgentMutex(deps.clock),
    briefings: createBriefings({
      ...deps,
      agents,
      mcpServers,
      programFiles: (agentId) => programSetupOf(deps.fleetEvents, agentId).files,
    }),
    sandboxes,
    settings: deps,
    room: createMachineRoom({
      capacity: deps.runtime.capacity,
      beside: () => deps.runtime.beside(),
      agents,
      startedSizes: sandboxes.startedSizes,
    }),
    packages: createAgentPackages(deps),
  }
}

function noSandboxes(deps: FleetDeps, links: AgentLinks): LiveSandboxes {
  return {
    links,
    addresses: new Map(),
    outdated: new Map(),
    startedModels: new Map(),
    startedPrograms: new Map(),
    startedPackages: new Map(),
    startedSizes: new Map(),
    startWaits: new Map(),
    lastUsed: new Map(),
    placed: new Map(),
    connect: (agentId, address) =>
      createAgentHttp({
        agentId,
        address,
        identity: deps.meshIdentity,
        clock: deps.clock,
        replies: deps.replies,
        http: links.httpOf(agentId),
      }),
    endpoint: () => ({
      host: deps.runtime.meshAddress(),
      port: deps.ports.agentApi,
      proxyPort: deps.ports.proxy,
      publicKeyBase64url: deps.meshIdentity.publicKeyBase64url,
    }),
  }
}

/** Publishes each state change of an agent inside the change's transaction, so that subscribers get it at once. */
function announceMove({ events }: Pick<FleetDeps, 'events'>, { agentId, from, to }: AgentMove): void {
  const reason = to.kind === 'stopping' ? to.reason : troubleOf(to)
  events.publish({ type: 'agent.changed', agent_id: agentId, from: from.kind, to: to.kind, reason })
}

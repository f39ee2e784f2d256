import { meshAgentApi as api, meshAgentEndpoints as endpoints } from '@flotilla/protocol/mesh-agent-api'
import type { PermissionStore } from '@flotilla/identity/access'
import { createPermissionGrants } from '@flotilla/identity/access'
import { agentSettingsOf, dataLimitBytes, hibernateAfterMs, isolationWish } from '@flotilla/foundation/config'
import type { Isolation } from '../isolation/index.ts'
import type { SandboxRuntime } from '../sandbox/index.ts'
import { rootOf } from '@flotilla/identity/events'
import type { MeshModule } from '@flotilla/identity/kernel'
import { createMeshIdentity } from './connection/mesh-identity.ts'
import type { MeshIdentity } from './connection/mesh-identity.ts'
import { createFleet } from './fleet.ts'
import type { Fleet, FleetDeps } from './fleet.ts'
import { harnessSetup } from './lifecycle/harness-setup.ts'
import type { AgentPlacing } from './lifecycle/agent-placing.ts'
import { createKeptThings } from './kept-things.ts'
import { createListMcpServers } from './mcp-servers.ts'
import { agentPeopleRoutes } from './people.routes.ts'
import { createWorkspaceFiles } from './workspace-files.ts'
import type { WorkspaceFiles } from './workspace-files.ts'
import type { FleetKernel } from '../events/index.ts'
export type {
  AgentConnection,
  AgentConnections,
  AgentConversations,
  AgentRuns,
  AgentSelf,
  AgentTool,
} from './connection/agent-connection.ts'
export type { AgentActivity } from './fleet-view.ts'
export type { AgentBriefing, Fleet, FleetConnection } from './fleet.ts'
export type { FleetLifecycle } from './administration/fleet-lifecycle.ts'
export type { AgentAdmin } from './administration/agent-admin.ts'
export type { AgentRegistry } from './administration/agent-registry.ts'
export { reserveBytes } from './lifecycle/machine-room.ts'
export type { AgentPackages } from './lifecycle/agent-packages.ts'
export { createAgentMutex } from './lifecycle/agent-mutex.ts'
export type { AgentMutex } from './lifecycle/agent-mutex.ts'
export type { Reach } from './lifecycle/ensure-running.ts'
export type { AgentBudget, AgentRecord } from './registry/agent-record.ts'
export { defaultBudget } from './administration/create-agent.ts'
export type { NewAgent, RequireModel } from './administration/create-agent.ts'
export type { AgentRewrite, WriteAgents } from './administration/write-agents.ts'
export type { McpServerTable } from './registry/mcp-server-table.ts'
export { operatorStaysWords } from './registry/operator-stays.ts'
export type { WorkspaceFiles } from './workspace-files.ts'

export interface Agents extends Fleet {
  /** Signs the calls of the mesh, so that an agent's process can authenticate them. */
  readonly meshIdentity: MeshIdentity
  readonly files: WorkspaceFiles
  readonly measureUse: SandboxRuntime['measureUse']
}

export type AgentsNeeds = Pick<FleetDeps, 'runtime' | 'replies' | 'loopLimits' | 'locksFolder'> & {
  readonly isolation: Pick<Isolation, 'state' | 'atLeast'> & Omit<AgentPlacing, 'wishOf'>
  readonly models: Pick<FleetDeps, 'missingModel' | 'requireModel'> & {
    readonly catalog: Pick<FleetDeps, 'defaultModel'>
  }
  readonly permissions: PermissionStore
  readonly briefsFolder: string
  /** The secret of the mesh, from which its identity towards agents is derived. */
  readonly secret: string
}

/** Creates the agents module: which agents exist and run, and how other modules reach them. */
export function agentsModule(kernel: FleetKernel, needs: AgentsNeeds): MeshModule<Agents> {
  const { permissions, isolation, models, secret, ...given } = needs
  const meshIdentity = createMeshIdentity({ secret, clock: kernel.clock })
  const fleet = createFleet({
    ...kernel,
    ...given,
    ...models,
    defaultModel: models.catalog.defaultModel,
    isolation: { hold: () => isolation.state().broken === null },
    placing: {
      place: isolation.place,
      adopted: isolation.adopted,
      lacking: isolation.lacking,
      doubt: isolation.doubt,
      wishOf: (agentId) => {
        const record = permissions.snapshot().recordOf(agentId)?.required_isolation ?? 'container'
        const atLeast = { start: isolation.atLeast, record }
        return isolationWish(kernel.settings(), rootOf(kernel.identityEvents, agentId), atLeast)
      },
    },
    permissionsOf: (agentId) => permissions.snapshot().recordOf(agentId) ?? null,
    grants: createPermissionGrants(permissions),
    meshIdentity,
    dataLimitBytes: (agentId) => dataLimitBytes(kernel.settings(), rootOf(kernel.identityEvents, agentId)),
    sizeSettings: (agentId) =>
      agentSettingsOf(kernel.settings(), rootOf(kernel.identityEvents, agentId)).size ?? {},
    imageSetting: (agentId) =>
      agentSettingsOf(kernel.settings(), rootOf(kernel.identityEvents, agentId)).image,
    restartsPerHour: () => kernel.settings().restarts_per_hour,
    hibernateAfterMs: (agentId) =>
      hibernateAfterMs(kernel.settings(), rootOf(kernel.identityEvents, agentId)),
    projectText: (agentId) =>
      kernel.fleetEvents.projectTexts.ask(rootOf(kernel.identityEvents, agentId))[0] ?? '',
    feedbackFor: kernel.fleetEvents.feedbackFor.ask,
  })
  const { registry, connection, lifecycle } = fleet
  kernel.fleetEvents.programSetups.subscribe((agentId) =>
    harnessSetup(kernel.settings().agents[rootOf(kernel.identityEvents, agentId)]?.harness),
  )
  const reached = { ...registry, ...connection }
  const files = createWorkspaceFiles({ ...kernel, fleet: reached })
  const things = createKeptThings({ ...kernel, runtime: needs.runtime, fleet: reached })
  const listMcpServers = createListMcpServers({ ...kernel, fleet: reached })
  return {
    api: { ...fleet, meshIdentity, files, measureUse: needs.runtime.measureUse },
    routes: {
      people: (surface) => agentPeopleRoutes(surface, { files, things, listMcpServers }),
      agent: ({ bind }) =>
        bind(endpoints.agents, api.agents, ({ caller }) => ({ agents: registry.listAgents(caller) })),
    },
    start: async () => {
      kernel.log.info({ ...(await lifecycle.reconcile()) }, 'reconciled agents of the previous process')
      await lifecycle.ensureOperator()
    },
    run: lifecycle.run,
    close: lifecycle.close,
  }
}

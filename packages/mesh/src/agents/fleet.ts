import { Agent } from 'node:http'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import type { Caller, PermissionGrants } from '../access/index.ts'
import type { SandboxRuntime } from '../sandbox/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { AgentConnections } from './connection/agent-connection.ts'
import type { AgentAddress } from './connection/agent-exchange.ts'
import { createAgentHttp } from './connection/agent-http.ts'
import type { ReplyShares } from './connection/agent-http.ts'
import type { AgentLife } from './lifecycle/agent-life.ts'
import type { AgentBudget, AgentRecord } from './registry/agent-record.ts'
import { createAgentTable, refuseArchived } from './registry/agent-table.ts'
import { createAgentTokens } from './connection/agent-tokens.ts'
import type { TokenOwner } from './connection/agent-tokens.ts'
import { createAgentTurns } from './lifecycle/agent-turns.ts'
import { applyTemplate } from './registry/apply-template.ts'
import type { ApplyTemplate } from './registry/apply-template.ts'
import { createBriefings } from './briefing/briefings.ts'
import { createAgent } from './registry/create-agent.ts'
import type { CreateAgent, RequireModel } from './registry/create-agent.ts'
import { createArchive } from './registry/archive-agent.ts'
import type { Archive } from './registry/archive-agent.ts'
import { deleteAgent } from './registry/delete-agent.ts'
import type { DeleteAgent } from './registry/delete-agent.ts'
import { changeAgent } from './registry/change-agent.ts'
import type { ChangeAgent } from './registry/change-agent.ts'
import { createAgentConnections } from './lifecycle/ensure-running.ts'
import type { Isolation, Reach } from './lifecycle/ensure-running.ts'
import { ensureOperator } from './registry/ensure-operator.ts'
import { agentView } from './fleet-view.ts'
import type { AgentActivity } from './fleet-view.ts'
import { watchHealth } from './lifecycle/health.ts'
import { listAgents } from './registry/list-agents.ts'
import type { AgentSummary } from './registry/list-agents.ts'
import { createMcpServerTable } from './registry/mcp-server-table.ts'
import type { McpServerTable } from './registry/mcp-server-table.ts'
import { createDataMeter } from './lifecycle/meter-data.ts'
import type { MeshIdentity } from './connection/mesh-identity.ts'
import { reconcileFleet } from './lifecycle/reconcile-fleet.ts'
import type { ReconcileReport } from './lifecycle/reconcile-fleet.ts'
import { restartAgent } from './lifecycle/restart-agent.ts'
import type { RestartAgent } from './lifecycle/restart-agent.ts'
import { createAgentStarts } from './lifecycle/start-agent.ts'
import { stopAgent } from './lifecycle/stop-agent.ts'
import type { StopAgent } from './lifecycle/stop-agent.ts'
import { createTemplates } from './registry/templates.ts'

/** Connections kept to one agent: a stream, a status, a probe and some to spare. */
const socketsPerAgentMax = 16

export interface FleetDeps extends Omit<Kernel, 'settings'> {
  readonly permissionsOf: (agentId: string) => PermissionRecord | null
  readonly grants: PermissionGrants
  readonly runtime: SandboxRuntime
  readonly briefsFolder: string
  /** The owner's folder first. */
  readonly templateFolders: readonly string[]
  readonly meshIdentity: MeshIdentity
  /** What replies of each agent may take of the mesh. */
  readonly replies: ReplyShares
  readonly defaultModel: () => string | null
  readonly missingModel: () => Promise<string>
  readonly requireModel: RequireModel
  readonly loopLimits: Readonly<Record<string, string>>
  /** What the agent may keep, by the settings of the moment. */
  readonly dataLimitBytes: (agentId: string) => number
  readonly projectText: (agentId: string) => string
  readonly isolation: Isolation
}

export interface Fleet extends AgentConnections, Reach {
  /** After the runtime is prepared and the agent door's port is known; before anything else. */
  reconcile(): Promise<ReconcileReport>
  ensureOperator(): Promise<void>
  /** Null for anything but a live token of an agent. */
  readonly verifyToken: (token: string) => TokenOwner | null
  readonly find: (agentId: string) => AgentRecord | null
  /** For the use cases that guard and journal it; joins the caller's transaction. Problem `unknown-agent`. */
  readonly setBudget: (agentId: string, budget: AgentBudget) => void
  readonly setProject: (agentId: string, project: string | null) => void
  list(): readonly AgentRecord[]
  /** By id; Problem `unknown-agent`. */
  viewOf(agentId: string, activityOf: (agentId: string) => AgentActivity): AgentView
  view(activityOf: (agentId: string) => AgentActivity): readonly AgentView[]
  listAgents(caller: Caller): readonly AgentSummary[]
  readonly mcpServers: McpServerTable
  readonly create: CreateAgent
  readonly delete: DeleteAgent
  readonly archive: Archive
  readonly isArchived: (agentId: string) => boolean
  /** For whoever gives work. Problems `unknown-agent`, `agent-archived`. */
  requireWorking(agentId: string): void
  /** Writes changes of the record; a sandbox that runs is re-created before its next run where it has to be. */
  readonly change: ChangeAgent
  /** The model that the agent's sandbox works with: the record's, or the one before while a run goes on. */
  modelInUse(agentId: string): string | null
  readonly restart: RestartAgent
  readonly stop: StopAgent
  readonly applyTemplate: ApplyTemplate
  templateNames(): Promise<readonly string[]>
  /** Writes SYSTEM.md of running agents anew, e.g. after permissions changed. */
  refreshBriefings(): Promise<void>
  /** Asks every agent now; `run` does so every 30 s. */
  sweep(): Promise<void>
  /** Looks after health and briefings until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Breaks off starts and lets go of connections. Sandboxes that run go on. */
  close(): Promise<void>
}

/** The fleet: which agents there are, which of them run, and the one way to reach each. */
export function createFleet(deps: FleetDeps): Fleet {
  const http = new Agent({ keepAlive: true, maxSockets: socketsPerAgentMax })
  const life = createLife(deps, http)
  const { agents } = life
  const meter = createDataMeter(life)
  const starts = createAgentStarts(life, meter)
  const health = watchHealth(life, starts, { isolation: deps.isolation, meter })
  deps.hooks.agentDeleted.subscribe(health.forget)
  const create = createAgent({ ...deps, life })
  const templates = createTemplates(deps.templateFolders)
  const view = (agentId: string, activityOf: (agentId: string) => AgentActivity): AgentView =>
    agentView(agents.require(agentId), activityOf(agentId), deps.defaultModel())

  return {
    ...createAgentConnections(life, starts, deps),
    reconcile: () => reconcileFleet(life),
    ensureOperator: () => ensureOperator({ ...deps, life }),
    verifyToken: (token) => life.tokens.verify(token),
    find: (agentId) => agents.find(agentId)?.record ?? null,
    setBudget: agents.setBudget,
    setProject: agents.setProject,
    list: () => agents.list().map((row) => row.record),
    viewOf: view,
    view: (activityOf) =>
      agents.list().map((row) => agentView(row, activityOf(row.record.id), deps.defaultModel())),
    listAgents: listAgents({ ...deps, agents }),
    mcpServers: life.mcpServers,
    create,
    change: changeAgent(life),
    modelInUse: (agentId) => life.outdated.get(agentId) ?? agents.find(agentId)?.record.model ?? null,
    delete: deleteAgent({ ...deps, life, starts }),
    archive: createArchive({ ...deps, life, starts }),
    isArchived: (agentId) => (agents.find(agentId)?.archivedAt ?? null) !== null,
    requireWorking: (agentId) => refuseArchived(agents.require(agentId)),
    restart: restartAgent({ ...deps, life, starts }),
    stop: stopAgent(life, starts),
    applyTemplate: applyTemplate({ ...deps, templates, agents, create }),
    templateNames: () => templates.names(),
    refreshBriefings: () => life.briefings.refresh(),
    sweep: () => health.sweep(),
    run: async (signal) => {
      await Promise.all([health.run(signal), life.briefings.run(signal)])
    },
    close: async () => {
      health.close()
      starts.breakOffAll('the mesh stops')
      await life.turns.settled()
      http.destroy()
    },
  }
}

function createLife(deps: FleetDeps, http: Agent): AgentLife {
  const agents = createAgentTable(deps.database)
  const mcpServers = createMcpServerTable(deps.database)
  return {
    ...deps,
    agents,
    mcpServers,
    tokens: createAgentTokens({ ...deps, agents }),
    turns: createAgentTurns(),
    briefings: createBriefings({ ...deps, agents, mcpServers }),
    addresses: new Map<string, AgentAddress>(),
    outdated: new Map<string, string | null>(),
    modelless: new Set<string>(),
    connect: (agentId, address) =>
      createAgentHttp({
        agentId,
        address,
        identity: deps.meshIdentity,
        clock: deps.clock,
        replies: deps.replies,
        http,
      }),
    door: () => ({
      host: deps.runtime.doorHost(),
      port: deps.ports.agentDoor,
      proxyPort: deps.ports.proxy,
      publicKeyBase64url: deps.meshIdentity.publicKeyBase64url,
    }),
  }
}

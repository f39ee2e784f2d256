import { isLive } from '@flotilla/protocol/agent-lifecycle'
import { lifecycleLimits } from '@flotilla/protocol/limits'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import type { Caller, PermissionGrants } from '../access/index.ts'
import type { SandboxRuntime } from '../sandbox/index.ts'
import type { Kernel, WorkFeedback } from '../kernel/index.ts'
import type { AgentConnections } from './connection/agent-connection.ts'
import { createAgentHttp } from './connection/agent-http.ts'
import { createAgentLinks } from './connection/agent-links.ts'
import type { AgentLinks } from './connection/agent-links.ts'
import type { ReplyShares } from './connection/agent-line.ts'
import type { AgentLife, LifeSettings, LiveSandboxes } from './lifecycle/agent-life.ts'
import type { AgentPlacing } from './lifecycle/agent-placing.ts'
import type { AgentBudget, AgentRecord } from './registry/agent-record.ts'
import { createAgentTable, isArchived, refuseArchived } from './registry/agent-table.ts'
import type { AgentMove, AgentRow } from './registry/agent-table.ts'
import { createAgentTokens } from './connection/agent-tokens.ts'
import type { TokenOwner } from './connection/agent-tokens.ts'
import { createAgentTurns } from './lifecycle/agent-turns.ts'
import { createBriefings } from './briefing/briefings.ts'
import { createAgent } from './registry/create-agent.ts'
import type { CreateAgent, RequireModel } from './registry/create-agent.ts'
import { createArchive } from './registry/archive-agent.ts'
import type { Archive } from './registry/archive-agent.ts'
import { deleteAgent, deleteInTurn } from './registry/delete-agent.ts'
import type { DeleteAgent } from './registry/delete-agent.ts'
import { changeAgent } from './registry/change-agent.ts'
import type { ChangeAgent } from './registry/change-agent.ts'
import { troubleOf } from './lifecycle/agent-state.ts'
import { createAgentConnections, refuseQuarantined } from './lifecycle/ensure-running.ts'
import type { Isolation, Reach } from './lifecycle/ensure-running.ts'
import { ensureOperator } from './registry/ensure-operator.ts'
import { agentView } from './fleet-view.ts'
import type { AgentActivity } from './fleet-view.ts'
import { watchHealth } from './lifecycle/health.ts'
import { createHibernate } from './lifecycle/hibernate.ts'
import { hibernateAgent } from './lifecycle/hibernate-agent.ts'
import type { HibernateAgent } from './lifecycle/hibernate-agent.ts'
import { forgiveLosses } from './lifecycle/lose-sandbox.ts'
import { createRemoveOrphans } from './lifecycle/remove-orphans.ts'
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
import { createShortLived } from './registry/short-lived.ts'
import type { ShortLived } from './registry/short-lived.ts'
import { stopAgent } from './lifecycle/stop-agent.ts'
import type { StopAgent } from './lifecycle/stop-agent.ts'
import { createSeedFiles } from './registry/seed-files.ts'
import type { SeedFiles } from './registry/seed-files.ts'
import { writeAgents } from './registry/write-agents.ts'
import type { WriteAgents } from './registry/write-agents.ts'

export interface FleetDeps extends Omit<Kernel, 'settings'>, LifeSettings {
  readonly permissionsOf: (agentId: string) => PermissionRecord | null
  readonly grants: PermissionGrants
  readonly runtime: SandboxRuntime
  readonly briefsFolder: string
  readonly meshIdentity: MeshIdentity
  /** What replies of each agent may take of the mesh. */
  readonly replies: ReplyShares
  readonly requireModel: RequireModel
  readonly projectText: (agentId: string) => string
  /** What was said of the agent's work, for its learnings. */
  readonly feedbackFor: (agentId: string) => readonly WorkFeedback[]
  readonly isolation: Isolation
  readonly placing: AgentPlacing
}

export interface Fleet extends AgentConnections, Reach {
  /** After the runtime is prepared and the agent door's port is known; before anything else. */
  reconcile(): Promise<ReconcileReport>
  ensureOperator(): Promise<void>
  /** Null for anything but a live token of an agent. */
  readonly verifyToken: (token: string) => TokenOwner | null
  /** Whose start comes to a door over a keyed line. */
  readonly findLink: AgentLinks['find']
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
  readonly shortLived: ShortLived
  readonly archive: Archive
  readonly isArchived: (agentId: string) => boolean
  /** Why it does not work now and is started again by itself, in words; null where that is not so. */
  failureOf(agentId: string): string | null
  /**
   * For whoever gives work. Problems `unknown-agent`, `agent-archived`; and where somebody waits for the answer,
   * `agent-quarantined`: other work waits in the queue until the agent is well.
   */
  requireWorking(agentId: string, asker?: 'waits'): void
  /** Writes changes of the record; a sandbox that runs is re-created before its next run where it has to be. */
  readonly change: ChangeAgent
  /** The model that the agent's sandbox works with: the record's, or the one before while a run goes on. */
  modelInUse(agentId: string): string | null
  readonly restart: RestartAgent
  readonly stop: StopAgent
  readonly hibernate: HibernateAgent
  /** Stops whatever may run, as the mesh ends; what does not end in time goes on, and is adopted by the next start. */
  stopAll(reason: string): Promise<void>
  /** Many at once, in the turn of each and in one transaction of the caller's. */
  readonly write: WriteAgents
  readonly seedFiles: Pick<SeedFiles, 'of' | 'given'>
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
  const life = createLife(deps)
  const { links } = life.sandboxes
  const { agents } = life
  const meter = createDataMeter(life)
  const starts = createAgentStarts(life, meter)
  const hibernate = createHibernate(life)
  const health = watchHealth(life, starts, {
    isolation: deps.isolation,
    meter,
    finishDeletion: (agentId) => deleteInTurn({ ...deps, life }, agentId, 'system'),
    hibernateIdle: hibernate.idle,
    removeOrphans: createRemoveOrphans(life),
  })
  const stopHearing = deps.runtime.onEngineBack(health.tryAll)
  deps.hooks.agentDeleted.subscribe((agentId) => {
    life.sandboxes.lastUsed.delete(agentId)
    life.sandboxes.placed.delete(agentId)
    links.forget(agentId)
  })
  deps.hooks.runSettled.subscribe(({ agentId, state }) => {
    life.sandboxes.lastUsed.set(agentId, deps.clock.now())
    // Work that came to its end is the best sign that an agent is well.
    if (state === 'done') forgiveLosses(life, agentId)
  })
  const create = createAgent({ ...deps, life })
  const viewOf = (row: AgentRow, activityOf: (agentId: string) => AgentActivity): AgentView => {
    const { id } = row.record
    const wish = deps.placing.wishOf(id)
    return agentView(row, activityOf(id), {
      defaultModel: deps.defaultModel(),
      wish,
      lacking: deps.placing.lacking(wish),
      placed: deps.runtime.isolates ? (life.sandboxes.placed.get(id) ?? null) : null,
    })
  }
  const view = (agentId: string, activityOf: (agentId: string) => AgentActivity): AgentView =>
    viewOf(agents.require(agentId), activityOf)

  const stop = stopAgent(life, starts)
  return {
    ...createAgentConnections(life, starts, deps),
    reconcile: () => reconcileFleet(life),
    ensureOperator: () => ensureOperator({ ...deps, life }),
    verifyToken: (token) => life.tokens.verify(token),
    findLink: links.find,
    find: (agentId) => agents.find(agentId)?.record ?? null,
    setBudget: agents.setBudget,
    setProject: agents.setProject,
    list: () => agents.list().map((row) => row.record),
    viewOf: view,
    view: (activityOf) => agents.list().map((row) => viewOf(row, activityOf)),
    listAgents: listAgents({ ...deps, agents }),
    mcpServers: life.mcpServers,
    create,
    change: changeAgent(life),
    modelInUse: (agentId) => {
      const row = agents.find(agentId)
      // A run under way goes on with what it began with, whatever the owner has chosen since.
      const started = row && isLive(row.state.kind) ? life.sandboxes.startedModels.get(agentId) : null
      return life.sandboxes.outdated.get(agentId) ?? row?.record.model ?? started ?? null
    },
    delete: deleteAgent({ ...deps, life, starts }),
    shortLived: createShortLived({ ...deps, life, starts }),
    archive: createArchive({ ...deps, life, starts }),
    isArchived: (agentId) => {
      const row = agents.find(agentId)
      return row !== null && isArchived(row)
    },
    failureOf: (agentId) => {
      const state = agents.find(agentId)?.state
      return state?.kind === 'restarting' || state?.kind === 'quarantined' ? state.reason : null
    },
    requireWorking: (agentId, asker) => {
      const row = agents.require(agentId)
      refuseArchived(row)
      if (asker === 'waits') refuseQuarantined(row, deps.clock.now())
    },
    restart: restartAgent({ ...deps, life, starts }),
    stop,
    hibernate: hibernateAgent({ ...deps, life, hibernate: hibernate.now }),
    stopAll: (reason) => stopAll(life, (agentId) => stop(agentId, reason)),
    write: writeAgents({ ...deps, life }),
    seedFiles: life.seedFiles,
    refreshBriefings: () => life.briefings.refresh(),
    sweep: () => health.sweep(),
    run: async (signal) => {
      await Promise.all([health.run(signal), life.briefings.run(signal)])
    },
    close: async () => {
      health.close()
      stopHearing()
      starts.breakOffAll('the mesh stops')
      if (!(await life.turns.settled(lifecycleLimits.shutdownMs))) {
        life.log.error({}, 'changes of agents are still under way; the next start brings them together')
      }
      links.close()
    },
  }
}

function createLife(deps: FleetDeps): AgentLife {
  const agents = createAgentTable(deps.database, (move) => announceMove(deps, move))
  const mcpServers = createMcpServerTable(deps.database)
  return {
    ...deps,
    agents,
    mcpServers,
    seedFiles: createSeedFiles(deps),
    tokens: createAgentTokens({ ...deps, agents }),
    turns: createAgentTurns(deps.clock),
    briefings: createBriefings({ ...deps, agents, mcpServers }),
    sandboxes: noSandboxes(
      deps,
      createAgentLinks({
        agents,
        identity: deps.meshIdentity,
        crossesMachines: deps.runtime.crossesMachines,
      }),
    ),
    settings: deps,
  }
}

function noSandboxes(deps: FleetDeps, links: AgentLinks): LiveSandboxes {
  return {
    links,
    addresses: new Map(),
    outdated: new Map(),
    startedModels: new Map(),
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
    door: () => ({
      host: deps.runtime.doorHost(),
      port: deps.ports.agentDoor,
      proxyPort: deps.ports.proxy,
      publicKeyBase64url: deps.meshIdentity.publicKeyBase64url,
    }),
  }
}

/** Whoever watches hears of each move at once, in its transaction. */
function announceMove({ events }: Pick<FleetDeps, 'events'>, { agentId, from, to }: AgentMove): void {
  const reason = to.kind === 'stopping' ? to.reason : troubleOf(to)
  events.publish({ type: 'agent.changed', agent_id: agentId, from: from.kind, to: to.kind, reason })
}

async function stopAll(life: AgentLife, stop: (agentId: string) => Promise<void>): Promise<void> {
  const mayRun = life.agents
    .list()
    .filter(({ state }) => isLive(state.kind) || state.kind === 'starting' || state.kind === 'stopping')
  const late = new AbortController()
  const deadline = life.clock.sleep(lifecycleLimits.shutdownMs, late.signal).then(
    () => life.log.error({}, 'agents were not stopped in time; the next start takes them up or ends them'),
    () => {},
  )
  const stops = mayRun.map(async ({ record }) => {
    try {
      await stop(record.id)
    } catch (error) {
      life.log.warn(
        { agentId: record.id, err: error },
        'an agent was not stopped; the next start takes it up or ends it',
      )
    }
  })
  await Promise.race([Promise.all(stops), deadline])
  late.abort()
}

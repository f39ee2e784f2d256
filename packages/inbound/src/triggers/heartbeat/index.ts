import { operatorAgentId } from '@flotilla/protocol/ids'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { Agents } from '@flotilla/fleet/agents'
import type { Messages } from '@flotilla/collaboration/messages'
import type { Topics } from '@flotilla/collaboration/topics'
import { dataLimitBytes } from '@flotilla/foundation/config'
import { reasonToPause } from '@flotilla/work/events'
import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import type { RunOutcomes, Runs } from '@flotilla/work/runs'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'
import type { Tasks } from '@flotilla/work/tasks'
import { createEnsureHeartbeat, createPlanHeartbeat } from './ensure-heartbeat.ts'
import { factsOf } from './fleet-changes.ts'
import { createFireHeartbeat } from './fire-heartbeat.ts'
import type { FireHeartbeat, FleetNow } from './fire-heartbeat.ts'
import type { HeartbeatJobs } from './heartbeat-jobs.ts'
import { createHeartbeatTable } from './heartbeat-table.ts'
import { createKnownContexts } from './known-contexts.ts'
import { createManageHeartbeats } from './manage-heartbeats.ts'
import { heartbeatOperatorRoutes } from './operator.routes.ts'
import { heartbeatPeopleRoutes } from './people.routes.ts'
import { createOpenTasks } from './probes.ts'
import { createReadContext } from './read-context.ts'
import type { WorkKernel } from '@flotilla/work/events'

export type { DueHeartbeat } from './fire-heartbeat.ts'
export type { HeartbeatJob, HeartbeatJobs } from './heartbeat-jobs.ts'

export interface Heartbeats {
  readonly fire: FireHeartbeat
  /** Gives each agent without a heartbeat its heartbeat, and restores the operator's heartbeat. */
  ensureAll(): Promise<void>
}

export interface HeartbeatNeeds {
  /** The store in which heartbeats are scheduled. */
  readonly jobs: HeartbeatJobs
  readonly agents: Pick<Agents, 'registry' | 'connection'>
  readonly runs: Pick<Runs, 'queue' | 'queries'>
  /** The outcomes of runs, for callers who wait for the end of a heartbeat that they requested. */
  readonly outcomes: RunOutcomes
  readonly tasks: Pick<Tasks, 'openOf' | 'openCount'>
  readonly topics: Pick<Topics, 'unreadSignals'>
  readonly messages: Pick<Messages, 'keptFor' | 'deliverKept'>
  readonly views: { all(): readonly AgentView[] }
  readonly sandboxes: Pick<SandboxRuntime, 'measureData'>
}

/** The heartbeat module: agents that periodically check for work. */
export function heartbeatModule(kernel: WorkKernel, needs: HeartbeatNeeds): MeshModule<Heartbeats> {
  const { clock, fleetEvents, workEvents, log } = kernel
  const { jobs, outcomes, runs } = needs
  const { registry: agents, connection } = needs.agents
  const table = createHeartbeatTable(kernel.database)
  const known = createKnownContexts({ table, isBusy: (agentId) => runs.queue.laneOf(agentId).busy, clock })
  const fire = createFireHeartbeat({
    database: kernel.database,
    table,
    agentOf: agents.require,
    isArchived: agents.isArchived,
    pausedReason: (agentId) => reasonToPause(workEvents, agentId),
    readContext: createReadContext({
      connections: connection,
      meteredPercent: (agentId) => meteredPercent(kernel, needs, agentId),
      known,
      log,
    }),
    unreadSignals: needs.topics.unreadSignals,
    messages: needs.messages,
    fleetFor: (agentId) => (agentId === operatorAgentId ? fleetNow(kernel, needs) : null),
    openTasks: createOpenTasks(needs.tasks),
    runs: { ...runs.queue, ...runs.queries },
    clock,
  })
  const ensure = createEnsureHeartbeat({ jobs })
  async function ensureAll(): Promise<void> {
    for (const { id: agentId } of agents.list()) {
      await ensure(agentId).catch((error: unknown) => {
        log.error(
          { agentId, err: error },
          'failed to add a heartbeat to an agent; the next start of the mesh retries',
        )
      })
    }
  }
  fleetEvents.agentReached.subscribe(known.reached)
  const plan = createPlanHeartbeat({ jobs, log })
  fleetEvents.agentPlanned.subscribe(({ agentId, heartbeat }) => plan(agentId, heartbeat))
  fleetEvents.agentUnplanned.subscribe((agentId) => jobs.remove(agentId))
  fleetEvents.agentFilesDropped.subscribe(async (agentId) => {
    table.remove(agentId)
    await jobs.remove(agentId)
  })
  const heartbeats = createManageHeartbeats({
    ...kernel,
    jobs,
    table,
    fire,
    agentIds: () => agents.list().map(({ id }) => id),
    isArchived: agents.isArchived,
    requireAgent: (agentId) => void agents.require(agentId),
  })
  return {
    api: { fire, ensureAll },
    routes: {
      people: (surface) => heartbeatPeopleRoutes(surface, { heartbeats, outcomes }),
      operator: (surface) => heartbeatOperatorRoutes(surface, heartbeats),
    },
    start: ensureAll,
  }
}

const dayMs = 24 * 3_600_000

/** Returns the state of all agents except the operator, for the operator. */
function fleetNow({ clock }: Kernel, { views, runs }: HeartbeatNeeds): FleetNow {
  const agents = views.all().filter(({ kind }) => kind === 'worker')
  const since = clock.now() - dayMs
  const failuresOf = (agentId: string): number => {
    const { failed = 0, expired = 0 } = runs.queries.endedSince(agentId, since)
    return failed + expired
  }
  const errors = new Map(agents.map(({ id, last_error: error }) => [id, error]))
  return { facts: factsOf(agents, failuresOf), errorOf: (agentId) => errors.get(agentId) ?? null }
}

/** Returns the used share of the agent's /data limit as the mesh measured it; null if a volume limits the agent. */
async function meteredPercent(
  { settings }: Kernel,
  { sandboxes }: HeartbeatNeeds,
  agentId: string,
): Promise<number | null> {
  const use = (await sandboxes.measureData([agentId])).get(agentId)
  return use ? Math.round((use.bytes / dataLimitBytes(settings(), agentId)) * 1000) / 10 : null
}

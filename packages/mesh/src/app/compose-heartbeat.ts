import { Problem } from '@flotilla/protocol/problem'
import type { HeartbeatUseCases } from '../triggers/heartbeat/people.routes.ts'
import { runUseCases } from './compose-use-cases.ts'
import type { MeshParts } from './compose-parts.ts'
import type { Fleet } from '../agents/fleet.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../platform/log.ts'
import type { Guard } from '../access/action.ts'
import type { Ledger } from '../runs/ledger.ts'
import type { SandboxRuntime } from '../sandbox/sandbox-runtime.ts'
import type { Database } from '../storage/database.ts'
import { systemClock } from '../platform/system-clock.ts'
import type { TaskTable } from '../tasks/task-table.ts'
import { createEnsureHeartbeat } from '../triggers/heartbeat/ensure-heartbeat.ts'
import { createPlanHeartbeat } from '../triggers/heartbeat/plan-heartbeat.ts'
import type { Topics } from '../collaboration/topics/topics.ts'
import { createFireHeartbeat } from '../triggers/heartbeat/fire-heartbeat.ts'
import type { HeartbeatJobs } from '../triggers/heartbeat/heartbeat-jobs.ts'
import { createHeartbeatTable } from '../triggers/heartbeat/heartbeat-table.ts'
import { createKnownContexts } from '../triggers/heartbeat/known-contexts.ts'
import { createListHeartbeats } from '../triggers/heartbeat/list-heartbeats.ts'
import { createOpenTasks } from '../triggers/heartbeat/open-tasks.ts'
import { createReadContext } from '../triggers/heartbeat/read-context.ts'
import { createRunHeartbeatNow } from '../triggers/heartbeat/run-heartbeat-now.ts'
import { createSetHeartbeat } from '../triggers/heartbeat/set-heartbeat.ts'

/** Agents that look around by themselves. */
export function composeHeartbeats(parts: {
  readonly database: Database
  readonly fleet: Fleet
  readonly ledger: Ledger
  readonly taskTable: TaskTable
  readonly runtime: SandboxRuntime
  readonly dataLimitBytes: (agentId: string) => number
  readonly guard: Guard
  readonly journal: Journal
  readonly log: Log
  readonly jobs: HeartbeatJobs
  readonly unreadSignals: Topics['unreadSignals']
  readonly pausedReason: (agentId: string) => string | null
}) {
  const { database, fleet, ledger, runtime, jobs, guard, log } = parts
  const clock = systemClock
  const table = createHeartbeatTable(database)
  const known = createKnownContexts({ table, isBusy: (agentId) => ledger.laneOf(agentId).busy, clock })
  const readContext = createReadContext({
    connections: fleet,
    meteredPercent: async (agentId) => {
      const use = (await runtime.measureData([agentId])).get(agentId)
      return use ? Math.round((use.bytes / parts.dataLimitBytes(agentId)) * 1000) / 10 : null
    },
    known,
    log,
  })
  const fire = createFireHeartbeat({
    ...parts,
    table,
    findAgent: fleet.find,
    isArchived: fleet.isArchived,
    readContext,
    openTasks: createOpenTasks(parts.taskTable),
    submitRun: ledger.submitRun,
    findRun: ledger.find,
    heartbeatsUnderWay: ledger.heartbeatsUnderWay,
    isLaneFull: ledger.isLaneFull,
    clock,
  })
  const ensure = createEnsureHeartbeat({ jobs })
  const requireAgent = (agentId: string): void => {
    if (!fleet.find(agentId)) throw new Problem('unknown-agent', { detail: 'there is no agent with this id' })
  }
  /** An agent that was made without its heartbeat gets it at the next start. */
  const settleIn = async (agentId: string): Promise<void> => {
    await ensure(agentId).catch((error: unknown) => {
      log.error({ agentId, err: error }, 'an agent has no heartbeat')
    })
  }
  return {
    fire,
    ensure,
    plan: createPlanHeartbeat({ jobs, log }),
    drop: (agentId: string): Promise<void> => jobs.remove(agentId),
    /** At start; also puts back what a hand changed of the operator's. */
    ensureAll: async (): Promise<void> => {
      for (const { id } of fleet.list()) await settleIn(id)
    },
    runNow: createRunHeartbeatNow({ guard, fire, clock }),
    set: createSetHeartbeat({ jobs, guard, journal: parts.journal, requireAgent }),
    list: createListHeartbeats({
      guard,
      jobs,
      table,
      agentIds: () => fleet.list().map(({ id }) => id),
      isArchived: fleet.isArchived,
    }),
    reached: known.reached,
    forget: async (agentId: string): Promise<void> => {
      table.remove(agentId)
      await jobs.remove(agentId)
    },
  }
}

export type Heartbeats = ReturnType<typeof composeHeartbeats>

export function heartbeatUseCases(parts: MeshParts): HeartbeatUseCases {
  const { heartbeats } = parts
  const { follow, outcomeRead } = runUseCases(parts)
  return {
    list: async (caller) => ({ heartbeats: [...(await heartbeats.list(caller))] }),
    runNow: async (caller, agentId, asked) => {
      const end = await heartbeats.runNow(caller, agentId, asked)
      return 'fired' in end ? { runId: end.fired.id } : end
    },
    set: async (caller, agentId, schedule) => {
      await heartbeats.set(caller, agentId, schedule)
      const view = (await heartbeats.list(caller)).find((one) => one.agent_id === agentId)
      if (!view) throw new Problem('unknown-agent', { detail: 'there is no agent with this id' })
      return view
    },
    follow,
    outcomeRead,
  }
}

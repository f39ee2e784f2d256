import { Problem } from '@flotilla/protocol/problem'
import type { IdPrefix, NewId } from '@flotilla/protocol/ids'
import { createEventBus } from '../../foundation/src/events/create-event-bus.ts'
import { createJournal } from '../../foundation/src/journal/journal-table.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import type { SettledRun } from '../../work/src/events/index.ts'
import type { Action, Decision, Guard } from '../../identity/src/access/action.ts'
import type { Caller, HumanCaller } from '../../identity/src/access/caller.ts'
import { openDatabase } from '../../foundation/src/storage/database.ts'
import type { Database } from '../../foundation/src/storage/database.ts'
import { allMigrations } from '../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../foundation/src/storage/migrate.ts'
import { createTaskStore } from '../../work/src/tasks/task-store.ts'
import { createTasks } from '../../work/src/tasks/tasks.ts'
import type { TaskAgents } from '../../work/src/tasks/tasks.ts'
import { createFakeAgents } from './fake-agents.ts'
import type { FakeAgents } from './fake-agents.ts'
import { createManualClock } from '../../protocol/src/testing/manual-clock.ts'
import type { ManualClock } from '../../protocol/src/testing/manual-clock.ts'
import { createLedger } from '../../work/src/runs/ledger.ts'
import type { Ledger, LedgerDeps } from '../../work/src/runs/ledger.ts'
import type { RunRecord } from '../../work/src/runs/ledger/run-record.ts'
import type { RunTasks } from '../../work/src/runs/ledger/run-tasks.ts'
import type { SteerRunInput } from '../../work/src/runs/steering/steer-run.ts'
import type { SteerRecord } from '../../work/src/runs/steering/steer-table.ts'
import { contextEvents } from './context-events.ts'

export const person: HumanCaller = { kind: 'human', role: 'owner', channel: 'cli' }

export interface LedgerHarnessOptions {
  readonly database?: Database
  readonly agents?: FakeAgents
  readonly clock?: ManualClock
  readonly newId?: NewId
  readonly onRunSettled?: readonly ((run: SettledRun) => void)[]
  /** Adds further reasons why a run waits. */
  readonly wrapTasks?: (book: RunTasks) => RunTasks
  readonly pausedReason?: (agentId: string) => string | null
  readonly requireDiskSpace?: () => void
  readonly guard?: Guard
  readonly decide?: (caller: Caller, action: Action) => Decision
  readonly taskAgents?: Partial<TaskAgents>
  /** The check of an agent that gets a run. */
  readonly requireAgent?: LedgerDeps['requireAgent']
}

/** A ledger with tasks and fake agents for tests; pass it the parts of another one to simulate a restart. */
export function aLedgerHarness(options: LedgerHarnessOptions = {}) {
  const database = options.database ?? migrated()
  const clock = options.clock ?? createManualClock()
  const agents = options.agents ?? createFakeAgents()
  const newId = options.newId ?? countingIds()
  const events = createEventBus({ database, clock, log: silentLog })
  const journal = createJournal({ database, clock })
  const contexts = contextEvents()
  const { workEvents } = contexts
  const store = createTaskStore({ database, events, journal, workEvents, clock })
  for (const listener of options.onRunSettled ?? []) workEvents.runSettled.subscribe(listener)
  const { pausedReason } = options
  if (pausedReason)
    workEvents.reasonsToPause.subscribe((agentId) => [pausedReason(agentId)].filter((one) => one !== null))
  const shared = { database, clock, newId, events, journal, guard: options.guard ?? (() => {}) }
  const ledger = createLedger({
    ...shared,
    log: silentLog,
    connections: agents,
    diskSpace: { require: options.requireDiskSpace ?? (() => {}) },
    requireAgent: options.requireAgent ?? requireAgent,
    tasks: (options.wrapTasks ?? ((book) => book))(store.ofRuns),
    workEvents,
  })
  const feedbackGiven: string[] = []
  const runs = portsOf(ledger)
  const tasks = createTasks({
    ...shared,
    ...store,
    ...contexts,
    ledger: runs,
    log: silentLog,
    decide: options.decide ?? (() => ({ allowed: true })),
    requireAgent,
    projectOf: () => null,
    unreachable: () => null,
    feedbackGiven: (agentId) => void feedbackGiven.push(agentId),
    ...options.taskAgents,
  })

  return {
    ...shared,
    ...contexts,
    agents,
    ledger,
    runs,
    taskTable: store.table,
    /** What an agent that works on a task sees of it. */
    workOf: (taskId: string, runId = store.table.find(taskId)?.run_id ?? '') =>
      store.ofRuns.work(taskId, runId),
    tasks,
    /** Agents whose work was judged. */
    feedbackGiven,
    /** Returns the created run; empty if the task waits. */
    handOff: (...call: Parameters<typeof tasks.handOff>) => {
      const reply = tasks.handOff(...call)
      return { ...reply, run_id: reply.run_id ?? '' }
    },
    completeTask: tasks.completeTask,
    chat: (agentId: string, message = 'hello', idempotencyKey?: string): RunRecord =>
      ledger.queue.submitRun(person, {
        agentId,
        input: { kind: 'chat', message, session: 'main' },
        idempotencyKey,
      }),
    /** Steers an agent as a person. */
    steer: (agentId: string, text = 'also this', more: Partial<SteerRunInput> = {}): SteerRecord =>
      ledger.steering.steerRun(person, { agentId, text, ...more }),
    steersOf: (run: { readonly id: string }) => {
      const found = ledger.queries.find(run.id)
      return found ? ledger.queries.view(found).steers : []
    },
    /** The agent as a caller of the agent API, with its live run. */
    callerOf: (agentId: string): Caller => ({
      kind: 'agent',
      agentId,
      token: 'door',
      run: ledger.lifecycle.live.liveRunOf(agentId),
    }),
    state: (run: { readonly id: string }) => ledger.queries.find(run.id)?.state,
    /** Renews the leases of all working agents, as their heartbeats do. */
    heartbeat: (): void => {
      for (const run of ledger.queries.list({ limit: 500 })) {
        const atWork = agents.working(run.agentId)
        if (run.state !== 'running' || atWork?.runId !== run.id || atWork.fence !== run.fence) continue
        ledger.lifecycle.lease.heartbeat({ runId: run.id, fence: run.fence })
      }
    },
    restarted: async () => {
      await ledger.close()
      return aLedgerHarness({ ...options, database, clock, agents, newId })
    },
  }
}

/** All functions about runs, for callers that pick some of them. */
export function portsOf({ queries, queue, lifecycle, steering, delivery }: Ledger) {
  return { ...queries, ...queue, ...lifecycle, ...steering, ...delivery }
}

function requireAgent(agentId: string): void {
  if (agentId === 'nobody') throw new Problem('unknown-agent')
}

export type LedgerHarness = ReturnType<typeof aLedgerHarness>

export function migrated(): Database {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  return database
}

function countingIds(): NewId {
  const counts = new Map<IdPrefix, number>()
  return (prefix) => {
    const count = (counts.get(prefix) ?? 0) + 1
    counts.set(prefix, count)
    return `${prefix}_${count}`
  }
}

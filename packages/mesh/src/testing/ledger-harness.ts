import { Problem } from '@flotilla/protocol/problem'
import type { IdPrefix, NewId } from '@flotilla/protocol/ids'
import { createEventBus } from '../events/create-event-bus.ts'
import { createJournal } from '../journal/journal-table.ts'
import { silentLog } from '../platform/log.ts'
import { createHooks } from '../kernel/hooks.ts'
import type { SettledRun } from '../kernel/hooks.ts'
import type { Caller } from '../access/caller.ts'
import { allMigrations } from '../storage/all-migrations.ts'
import { openDatabase } from '../storage/database.ts'
import type { Database } from '../storage/database.ts'
import { migrate } from '../storage/migrate.ts'
import { createCompleteTask } from '../tasks/complete-task.ts'
import { createHandOff } from '../tasks/hand-off.ts'
import { createMoveTask } from '../tasks/move-task.ts'
import { createTaskBook } from '../tasks/task-book.ts'
import { createTaskTable } from '../tasks/task-table.ts'
import { createFakeAgents } from './fake-agents.ts'
import type { FakeAgents } from './fake-agents.ts'
import { createHandDrivenClock } from './manual-clock.ts'
import type { HandDrivenClock } from './manual-clock.ts'
import { createLedger } from '../runs/ledger.ts'
import type { RunRecord } from '../runs/lifecycle/run-record.ts'
import type { RunTasks } from '../runs/lifecycle/run-tasks.ts'
import type { SteerRunInput } from '../runs/steering/steer-run.ts'
import type { SteerRecord } from '../runs/steering/steer-table.ts'

export const person: Caller = { kind: 'human', channel: 'cli' }

export interface WorldOptions {
  readonly database?: Database
  readonly agents?: FakeAgents
  readonly clock?: HandDrivenClock
  readonly newId?: NewId
  readonly onRunSettled?: readonly ((run: SettledRun) => void)[]
  /** What other rooms add to what a run waits for. */
  readonly wrapTasks?: (book: RunTasks) => RunTasks
  readonly pausedReason?: (agentId: string) => string | null
  readonly requireDiskRoom?: () => void
}

/** A ledger with its tasks over fake agents, for tests; give it the parts of another to play a restart. */
export function aLedgerWorld(options: WorldOptions = {}) {
  const database = options.database ?? migrated()
  const clock = options.clock ?? createHandDrivenClock()
  const agents = options.agents ?? createFakeAgents()
  const newId = options.newId ?? countingIds()
  const events = createEventBus({ database, clock, log: silentLog })
  const journal = createJournal({ database, clock })
  const taskTable = createTaskTable(database)
  const moveTask = createMoveTask({ database, table: taskTable, events, journal, clock })
  const hooks = createHooks(silentLog)
  for (const listener of options.onRunSettled ?? []) hooks.runSettled.subscribe(listener)
  const { pausedReason } = options
  if (pausedReason)
    hooks.reasonsToPause.subscribe((agentId) => [pausedReason(agentId)].filter((one) => one !== null))
  const shared = { database, clock, newId, events, journal, guard: () => {} }
  const ledger = createLedger({
    ...shared,
    log: silentLog,
    connections: agents,
    diskRoom: { require: options.requireDiskRoom ?? (() => {}) },
    requireAgent: (agentId) => {
      if (agentId === 'nobody') throw new Problem('unknown-agent')
    },
    tasks: (options.wrapTasks ?? ((book) => book))(createTaskBook({ table: taskTable, moveTask })),
    hooks,
  })
  const handOff = createHandOff({ ...shared, ledger, table: taskTable })
  const completeTask = createCompleteTask({ ...shared, ledger, table: taskTable, moveTask })

  return {
    ...shared,
    hooks,
    agents,
    ledger,
    taskTable,
    handOff,
    completeTask,
    chat: (agentId: string, message = 'hello', idempotencyKey?: string): RunRecord =>
      ledger.submitRun(person, {
        agentId,
        input: { kind: 'chat', message, session: 'main' },
        idempotencyKey,
      }),
    /** A person says something to an agent. */
    steer: (agentId: string, text = 'also this', more: Partial<SteerRunInput> = {}): SteerRecord =>
      ledger.steerRun(person, { agentId, text, ...more }),
    steersOf: (run: { readonly id: string }) => {
      const found = ledger.find(run.id)
      return found ? ledger.view(found).steers : []
    },
    /** The agent as the door knows it, on behalf of its live run. */
    callerOf: (agentId: string): Caller => ({
      kind: 'agent',
      agentId,
      token: 'door',
      run: ledger.live.liveRunOf(agentId),
    }),
    state: (run: { readonly id: string }) => ledger.find(run.id)?.state,
    /** The heart of every agent that works: renews the leases. */
    beat: (): void => {
      for (const run of ledger.list({ limit: 500 })) {
        const atWork = agents.working(run.agentId)
        if (run.state !== 'running' || atWork?.runId !== run.id || atWork.fence !== run.fence) continue
        ledger.lease.beat({ runId: run.id, fence: run.fence })
      }
    },
    restarted: async () => {
      await ledger.close()
      return aLedgerWorld({ ...options, database, clock, agents, newId })
    },
  }
}
export type LedgerWorld = ReturnType<typeof aLedgerWorld>

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

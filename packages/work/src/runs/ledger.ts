import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { Origin } from '@flotilla/protocol/origin'
import type { RunState, RunView } from '@flotilla/protocol/run'
import type { Guard } from '@flotilla/identity/access'
import type { AgentConnections } from '@flotilla/fleet/agents'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import { reasonToPause } from '../events/index.ts'
import { createDomainEvent } from '@flotilla/foundation/events'
import type { DomainEvent } from '@flotilla/foundation/events'
import type { Log } from '@flotilla/foundation/platform'
import { isTerminal } from '@flotilla/protocol/run'
import type { Database } from '@flotilla/foundation/storage'
import { createOutbox } from './ledger/outbox.ts'
import { createRunDelivery } from './delivery/run-delivery.ts'
import type { RunDelivery } from './delivery/run-delivery.ts'
import { createRunInbox } from './ledger/run-inbox.ts'
import { createRunChanges } from './ledger/change-run.ts'
import { createExpireRuns } from './dispatch/expire-runs.ts'
import { createFollowedRuns } from './dispatch/followed-runs.ts'
import { createLiveRuns } from './ledger/live-runs.ts'
import { createRunLifecycle } from './dispatch/run-lifecycle.ts'
import type { RunLifecycle } from './dispatch/run-lifecycle.ts'
import { createRunPulses } from './dispatch/run-pulses.ts'
import type { RunRecord } from './ledger/run-record.ts'
import { createRunTable } from './ledger/run-table.ts'
import type { RunTable } from './ledger/run-table.ts'
import type { RunTasks } from './ledger/run-tasks.ts'
import { runView } from './ledger/run-view.ts'
import { createSearchRuns } from './ledger/search-runs.ts'
import type { FoundRuns, RunSearch } from './ledger/search-runs.ts'
import { runSweeps } from './dispatch/sweeps.ts'
import { createDispatchRuns } from './dispatch/dispatch-runs.ts'
import { createRunQueue } from './dispatch/run-queue.ts'
import type { RunQueue } from './dispatch/run-queue.ts'
import { requestersOf } from './steering/requesters-of.ts'
import { createSteerTable } from './steering/steer-table.ts'
import type { SteerTable } from './steering/steer-table.ts'
import { steerView } from './steering/steer-view.ts'
import { createSteering } from './steering/steering.ts'
import type { RunSteering } from './steering/steering.ts'
import { createEnterRun, createSubmitRun, isLaneFull } from './submit-run.ts'
import type { Admission } from './submit-run.ts'
import type { WorkEvents } from '../events/index.ts'

export interface LedgerDeps extends Admission {
  readonly database: Database
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
  readonly guard: Guard
  readonly journal: Journal
  readonly events: EventBus
  readonly connections: AgentConnections
  readonly tasks: RunTasks
  readonly workEvents: WorkEvents
}

/** The run ledger (invariants R1 to R7). Its functions are grouped by use. */
export interface Ledger {
  readonly queries: RunQueries
  readonly queue: RunQueue
  readonly lifecycle: RunLifecycle
  readonly steering: RunSteering
  readonly delivery: RunDelivery
  /** Recovers runs from their rows (R7), wakes the lanes and starts the periodic sweeps. */
  start(): void
  /** Stops lanes and sweeps. Running runs are not settled; their containers continue. */
  close(): Promise<void>
}

/** Read access to the rows of runs. */
export interface RunQueries {
  find(runId: string): RunRecord | null
  /** Lists runs of one agent or of all, newest first. */
  list(page: { readonly agentId?: string; readonly limit: number }): readonly RunRecord[]
  /** Searches all runs, page by page. Problem `not-found` for an unknown `before`. */
  search(query: RunSearch): FoundRuns
  view(run: RunRecord): RunView
  /** Returns what the run will wait for when its turn ends: open child tasks, and open questions to a person. */
  waitsOf(runId: string): readonly string[]
  /** Returns the run that uses a session now or will continue in it; null when the session is free. */
  runIn(agentId: string, session: string): RunRecord | null
  /** The run and all its descendants. */
  treeOf(runId: string): readonly string[]
  /** Returns the run and its ancestors, nearest first. */
  chainOf(runId: string): readonly RunRecord[]
  /** Returns the origins of all whose messages started or steered the run or an ancestor of it. */
  requestersOf(runId: string): readonly Origin[]
  /** Returns the tokens and US dollars used by the run and all its descendants. */
  usedBy(runId: string): { readonly tokens: number; readonly costUsd: number }
  countByState(): Readonly<Record<RunState, number>>
  /** Counts the runs of one agent that ended since `then` (milliseconds since 1970), by state. */
  endedSince(agentId: string, then: number): Readonly<Record<string, number>>
}

export function createLedger(given: LedgerDeps): Ledger {
  const { database, workEvents } = given
  const rows = { table: createRunTable(database), steers: createSteerTable(database) }
  const outbox = createOutbox(given)
  const deps = {
    ...given,
    ...rows,
    outbox,
    inbox: createRunInbox(database),
    tasks: awaitingOthers(given),
    pausedReason: (agentId: string) => reasonToPause(workEvents, agentId),
    notifier: createDomainEvent<string>(),
    followed: createFollowedRuns(),
    pulses: createRunPulses(given.clock),
    live: createLiveRuns(rows.table),
  }
  const queries = createQueries(rows, deps)
  const changes = createRunChanges(deps)
  const delivery = createRunDelivery({ ...deps, changes, view: queries.view })
  const { notifyRun } = delivery
  const enter = createEnterRun(deps)
  // In the transaction that settles a run, its task is called first, then steering, then the other modules.
  changes.settled.subscribe((run) => deps.tasks.runSettled(run, notifyRun))
  const steering = createSteering({ ...deps, enter, changes, notifyRun })
  changes.settled.subscribe(workEvents.runSettled.publish)
  const lifecycle = createRunLifecycle({ ...deps, changes })
  const queue = createRunQueue({
    ...deps,
    submitRun: createSubmitRun({ ...deps, enter }),
    isLaneFull: (place) => isLaneFull(rows, place),
  })
  const closing = new AbortController()
  const { lease } = lifecycle
  const stopped = closing.signal
  const lanes = createDispatchRuns({ ...deps, changes, lease, stopped, releaseSteers: steering.release })
  const sweeps = [
    { name: 'leases', run: lease.sweep },
    { name: 'expiry', run: createExpireRuns({ ...deps, settle: changes.settle }) },
    { name: 'due runs', run: () => ringDue(deps) },
  ]
  let sweeping = Promise.resolve()
  return {
    queries,
    queue,
    lifecycle,
    steering,
    delivery,
    start: () => {
      // The first sweep runs before the lanes start, so that expired runs are not dispatched.
      sweeping = runSweeps({ ...given, sweeps, signal: stopped })
      lanes.start()
    },
    close: async () => {
      closing.abort()
      await Promise.all([sweeping, lanes.close(), steering.close()])
    },
  }
}

/** Adds to a run's open child tasks what other modules make the run wait for. */
function awaitingOthers({ tasks, workEvents }: Pick<LedgerDeps, 'tasks' | 'workEvents'>): RunTasks {
  return {
    ...tasks,
    openChildren: (runId) => [...tasks.openChildren(runId), ...workEvents.runAwaits.ask(runId)],
  }
}

function createQueries(
  rows: { readonly table: RunTable; readonly steers: SteerTable },
  {
    database,
    tasks,
    workEvents,
  }: Pick<LedgerDeps, 'database' | 'workEvents'> & {
    readonly tasks: Pick<RunTasks, 'openChildren' | 'titled'>
  },
): RunQueries {
  const { find, list, runIn, treeOf, chainOf, usedBy, countByState, endedSince } = rows.table
  return {
    find,
    list,
    search: createSearchRuns(database, tasks),
    runIn,
    treeOf,
    chainOf,
    usedBy,
    countByState,
    endedSince,
    requestersOf: (runId) => requestersOf(rows, runId),
    waitsOf: (runId) => tasks.openChildren(runId),
    view: (run) =>
      runView(run, {
        waitingOn: run.state === 'waiting' ? tasks.openChildren(run.id) : [],
        steers: rows.steers.ofRun(run.id).map(steerView),
        open: isTerminal(run.state) ? workEvents.openUsageOfRun.ask(run.id) : [],
      }),
  }
}

/** Wakes lanes whose next run may start only now, for example after a failed attempt. */
function ringDue({
  table,
  notifier,
  clock,
}: {
  readonly table: Pick<RunTable, 'agentsWithWork'>
  readonly notifier: Pick<DomainEvent<string>, 'publish'>
  readonly clock: Clock
}): void {
  for (const agentId of table.agentsWithWork(clock.now())) notifier.publish(agentId)
}

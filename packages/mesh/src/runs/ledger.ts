import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { Origin } from '@flotilla/protocol/origin'
import type { RunState, RunView } from '@flotilla/protocol/run'
import type { EventBus } from '../events/index.ts'
import type { AgentConnections } from '../agents/index.ts'
import type { Journal } from '../journal/index.ts'
import type { Log } from '../platform/index.ts'
import type { Guard } from '../access/index.ts'
import { createHook, reasonToPause } from '../kernel/index.ts'
import type { Hooks } from '../kernel/index.ts'
import type { Database, DiskSpace } from '../storage/index.ts'
import { createCancelRun } from './lifecycle/cancel-run.ts'
import type { CancelRun } from './lifecycle/cancel-run.ts'
import { createEndTurn } from './lifecycle/end-turn.ts'
import { createExpireRuns } from './lifecycle/expire-runs.ts'
import { createFollowRun } from './lifecycle/follow-run.ts'
import { createInterruptRun, createMoveRun, createSettleRun } from './lifecycle/change-run.ts'
import type { SettleRun } from './lifecycle/change-run.ts'
import { createLanes } from './queue/lanes.ts'
import { createHoldLease } from './hold-lease.ts'
import { createLease } from './lifecycle/lease.ts'
import type { Lease } from './lifecycle/lease.ts'
import { createLiveRuns } from './lifecycle/live-runs.ts'
import type { LiveRuns } from './lifecycle/live-runs.ts'
import { createOutbox } from './delivery/outbox.ts'
import type { Outbox } from './delivery/outbox.ts'
import { createFollowedRuns, createPerformRun } from './lifecycle/perform-run.ts'
import { createRecoverRun } from './lifecycle/recover-runs.ts'
import { createRunInbox } from './delivery/run-inbox.ts'
import type { RunRecord } from './lifecycle/run-record.ts'
import { createRunPulses } from './lifecycle/run-pulses.ts'
import { createRunTable } from './lifecycle/run-table.ts'
import type { RunTasks, TakeNote, TellRun } from './lifecycle/run-tasks.ts'
import { runView } from './lifecycle/run-view.ts'
import { askersOf } from './steering/askers-of.ts'
import type { SteerRun } from './steering/steer-run.ts'
import { createSteerTable } from './steering/steer-table.ts'
import { steerView } from './steering/steer-view.ts'
import { createEnterRun, createSubmitRun, isLaneFull } from './submit-run.ts'
import type { LanePlace, SubmitRun } from './submit-run.ts'
import { createRunOutcomes } from './delivery/tell-outcome.ts'
import type { RunOutcomes } from './delivery/tell-outcome.ts'
import { runSweeps } from './lifecycle/sweeps.ts'
import type { TakeSteers } from './steering/take-steers.ts'
import { createTakeNote, createTellRun } from './delivery/tell-run.ts'
import { createSteering } from './steering/steering.ts'

export interface LedgerDeps {
  readonly database: Database
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
  readonly guard: Guard
  readonly journal: Journal
  readonly events: EventBus
  readonly connections: AgentConnections
  /** Throws the Problem `unknown-agent`, or `agent-archived` for one that is given no work. */
  readonly requireAgent: (agentId: string, asker?: 'waits') => void
  readonly diskSpace: Pick<DiskSpace, 'require'>
  readonly tasks: RunTasks
  readonly hooks: Hooks
}

/** The ledger of runs (invariants R1 to R7 of the architecture page). */
export interface Ledger {
  readonly submitRun: SubmitRun
  readonly steerRun: SteerRun
  readonly takeSteers: TakeSteers
  readonly cancelRun: CancelRun
  readonly tellRun: TellRun
  readonly takeNote: TakeNote
  readonly live: LiveRuns
  readonly lease: Lease
  readonly outbox: Outbox
  readonly outcomes: RunOutcomes
  find(runId: string): RunRecord | null
  /** The run that has spoken in a conversation and is to speak there again, or does now; null when it is free. */
  runIn(agentId: string, session: string): RunRecord | null
  /** The run and all that work for it, near or far. */
  treeOf(runId: string): readonly string[]
  /** The run and those that asked for it, nearest first. */
  chainOf(runId: string): readonly RunRecord[]
  /** Whose words set the run going, or were said to it or to a run that it works for. */
  askersOf(runId: string): readonly Origin[]
  /** Tokens and US dollars of the run and all that work for it. */
  usedBy(runId: string): { readonly tokens: number; readonly costUsd: number }
  /** Newest first. */
  list(page: { readonly agentId?: string; readonly limit: number }): readonly RunRecord[]
  view(run: RunRecord): RunView
  countByState(): Readonly<Record<RunState, number>>
  /** Runs of one agent that ended since `then` (milliseconds since 1970), by how. */
  endedSince(agentId: string, then: number): Readonly<Record<string, number>>
  laneOf(agentId: string): { readonly busy: boolean; readonly queued: number; readonly waiting: number }
  /** By the rule by which runs are taken into a lane. */
  isLaneFull(place: LanePlace): boolean
  /** Queued and running runs of the agent that a pause is about, oldest first. */
  proactiveOf(agentId: string): readonly RunRecord[]
  /** Queued and running heartbeats of the agent, oldest first; none that waits for what it gave away. */
  heartbeatsUnderWay(agentId: string): readonly RunRecord[]
  /** What a pause held may begin; joins the caller's transaction. */
  releaseProactive(agentId: string): void
  /** The agent's sandbox is no more: its running run, if any, is looked at now and not when its lease dies (R2). */
  agentGone(agentId: string): void
  /** Adds to the mesh's own count of what a run costs; joins the caller's transaction. */
  addRunCost(runId: string, usd: number, tokens: number): void
  /** Takes up what the rows say (R7) and begins to sweep. */
  start(): void
  /** Stops lanes and sweeps. Running runs are not settled: their containers go on. */
  close(): Promise<void>
}

export function createLedger(given: LedgerDeps): Ledger {
  const { database, clock, log, hooks } = given
  const tasks: RunTasks = {
    ...given.tasks,
    openChildren: (runId) => [...given.tasks.openChildren(runId), ...hooks.runAwaits.ask(runId)],
  }
  const pausedReason = (agentId: string) => reasonToPause(hooks, agentId)
  const deps = { ...given, tasks, pausedReason }
  const table = createRunTable(database)
  const steers = createSteerTable(database)
  const inbox = createRunInbox(database)
  const outbox = createOutbox(deps)
  const bell = createHook<string>()
  const followed = createFollowedRuns()
  const pulses = createRunPulses(clock)
  const move = createMoveRun({ ...deps, table })
  const tellRun = createTellRun({ database, table, inbox, outbox, move, bell, clock })
  const enter = createEnterRun({ ...deps, table, bell })
  const live = createLiveRuns(table)
  const steering = createSteering({
    ...deps,
    table,
    steers,
    enter,
    tellRun,
    live,
    // What a run that ends releases may have to end as well.
    settle: (run, outcome) => settle(run, outcome),
  })
  const handlers = [
    (run: RunRecord) => tasks.runSettled(run, tellRun),
    steering.release,
    steering.tellSteerer,
    hooks.runSettled.tell,
  ]
  const settle: SettleRun = createSettleRun({ database, move, outbox, bell, handlers })
  const interrupt = createInterruptRun({ database, move, settle, bell, clock })
  const releaseSteers = steering.release
  const endTurn = createEndTurn({ ...deps, table, inbox, move, settle, interrupt, releaseSteers })
  const follow = createFollowRun({ ...deps, table, inbox, steers, endTurn, settle })
  const closing = new AbortController()
  const lease = createLease({ table, followed, pulses, bell, clock })
  const holdLease = createHoldLease({ clock, log, renew: lease.beat, stopped: closing.signal })
  const performRun = createPerformRun({
    ...deps,
    table,
    inbox,
    outbox,
    follow,
    followed,
    pulses,
    holdLease,
    interrupt,
    settle,
    move,
  })
  const recover = createRecoverRun({ ...deps, table, performRun, pulses, interrupt })
  const lanes = createLanes({ ...deps, table, performRun, recover, bell })
  const expireRuns = createExpireRuns({ ...deps, table, settle, followed, outbox })
  const wakeDue = () => table.agentsWithWork(clock.now()).forEach((agentId) => bell.tell(agentId))
  const sweeps = [
    { name: 'leases', run: () => lease.sweep() },
    { name: 'expiry', run: expireRuns },
    { name: 'due runs', run: wakeDue },
  ]
  const view = (run: RunRecord): RunView =>
    runView(
      run,
      run.state === 'waiting' ? tasks.openChildren(run.id) : [],
      steers.ofRun(run.id).map(steerView),
    )
  let sweeping = Promise.resolve()

  return {
    submitRun: createSubmitRun({ ...deps, table, steers, enter }),
    steerRun: steering.steerRun,
    takeSteers: steering.takeSteers,
    cancelRun: createCancelRun({ ...deps, table, settle, followed }),
    outcomes: createRunOutcomes({ ...deps, table, outbox, view }),
    live,
    tellRun,
    takeNote: createTakeNote({ inbox, outbox }),
    lease,
    outbox,
    find: table.find,
    runIn: table.runIn,
    treeOf: table.treeOf,
    chainOf: table.chainOf,
    askersOf: (runId) => askersOf({ table, steers }, runId),
    usedBy: table.usedBy,
    list: table.list,
    view,
    countByState: table.countByState,
    endedSince: table.endedSince,
    laneOf: table.laneOf,
    isLaneFull: (place) => isLaneFull({ table, steers }, place),
    agentGone: (agentId) => {
      const run = table.runningOf(agentId)
      if (!run) return
      followed.letGo(run.id)
      bell.tell(agentId)
    },
    proactiveOf: table.proactiveOf,
    heartbeatsUnderWay: table.heartbeatsUnderWay,
    releaseProactive: (agentId) => {
      table.requeueProactive(agentId, clock.now())
      database.afterCommit(() => bell.tell(agentId))
    },
    addRunCost: table.addCost,
    start: () => {
      // The first round is before the lanes: nothing that has expired meanwhile begins.
      sweeping = runSweeps({ sweeps, clock, log, signal: closing.signal })
      lanes.start()
    },
    close: async () => {
      closing.abort()
      await Promise.all([sweeping, lanes.close(), steering.close()])
    },
  }
}

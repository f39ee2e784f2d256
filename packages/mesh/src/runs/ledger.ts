import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { RunState, RunView } from '@flotilla/protocol/run'
import type { EventBus } from '../events/index.ts'
import type { AgentConnections } from '../agents/index.ts'
import type { Journal } from '../journal/index.ts'
import type { Log } from '../platform/index.ts'
import type { Guard } from '../access/index.ts'
import { reasonToPause } from '../kernel/index.ts'
import type { Hooks } from '../kernel/index.ts'
import type { Database, DiskRoom } from '../storage/index.ts'
import { createCancelRun } from './lifecycle/cancel-run.ts'
import type { CancelRun } from './lifecycle/cancel-run.ts'
import { createDeliverSteers } from './steering/deliver-steers.ts'
import { createDispatchRun } from './queue/dispatch-run.ts'
import { createEndTurn } from './lifecycle/end-turn.ts'
import { createExpireRuns } from './lifecycle/expire-runs.ts'
import { createFollowRun } from './lifecycle/follow-run.ts'
import { createFollowedRuns } from './lifecycle/followed-runs.ts'
import { createInterruptRun } from './lifecycle/interrupt-run.ts'
import { createLaneBell } from './queue/lane-bell.ts'
import { createLanes } from './queue/lanes.ts'
import { createLease } from './lifecycle/lease.ts'
import type { Lease } from './lifecycle/lease.ts'
import { createLiveRuns } from './lifecycle/live-runs.ts'
import type { LiveRuns } from './lifecycle/live-runs.ts'
import { createMoveRun } from './lifecycle/move-run.ts'
import { createOutbox } from './delivery/outbox.ts'
import type { Outbox } from './delivery/outbox.ts'
import { createPerformRun } from './lifecycle/perform-run.ts'
import { createRecoverRun } from './lifecycle/recover-runs.ts'
import { createBecomeRun, createReleaseSteers } from './steering/release-steers.ts'
import { createRunInbox } from './delivery/run-inbox.ts'
import type { RunRecord } from './lifecycle/run-record.ts'
import { createRunPulses } from './lifecycle/run-pulses.ts'
import { createRunTable } from './lifecycle/run-table.ts'
import type { RunTasks, TellRun } from './lifecycle/run-tasks.ts'
import { runView } from './lifecycle/run-view.ts'
import { createSettleRun } from './lifecycle/settle-run.ts'
import { createSteerRun } from './steering/steer-run.ts'
import type { SteerRun } from './steering/steer-run.ts'
import { createSteerTable } from './steering/steer-table.ts'
import { steerView } from './steering/steer-view.ts'
import { createEnterRun, createSubmitRun, isLaneFull } from './submit-run.ts'
import type { LanePlace, SubmitRun } from './submit-run.ts'
import { createSubscribeRun } from './delivery/subscribe-run.ts'
import type { SubscribeRun } from './delivery/subscribe-run.ts'
import { runSweeps } from './lifecycle/sweeps.ts'
import { createTakeSteers } from './steering/take-steers.ts'
import type { TakeSteers } from './steering/take-steers.ts'
import { createTellRun } from './delivery/tell-run.ts'
import { createTellSteerer } from './steering/tell-steerer.ts'

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
  readonly requireAgent: (agentId: string) => void
  readonly diskRoom: Pick<DiskRoom, 'require'>
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
  readonly live: LiveRuns
  readonly lease: Lease
  readonly outbox: Outbox
  readonly subscribe: SubscribeRun
  find(runId: string): RunRecord | null
  /** The run that has spoken in a conversation and is to speak there again, or does now; null when it is free. */
  runIn(agentId: string, session: string): RunRecord | null
  /** The run and all that work for it, near or far. */
  treeOf(runId: string): readonly string[]
  /** The run and those that asked for it, nearest first. */
  chainOf(runId: string): readonly RunRecord[]
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
  const bell = createLaneBell()
  const followed = createFollowedRuns()
  const pulses = createRunPulses(clock)
  const move = createMoveRun({ ...deps, table })
  const tellRun = createTellRun({ database, table, inbox, outbox, move, bell, clock })
  const enter = createEnterRun({ ...deps, table, bell })
  const become = createBecomeRun({ ...deps, table, enter })
  const releaseSteers = createReleaseSteers({ steers, become })
  const handlers = [
    (run: RunRecord) => tasks.runSettled(run, tellRun),
    releaseSteers,
    createTellSteerer({ steers, tellRun }),
    hooks.runSettled.tell,
  ]
  const settle = createSettleRun({ database, move, outbox, bell, handlers })
  const interrupt = createInterruptRun({ database, move, settle, bell, clock })
  const endTurn = createEndTurn({ ...deps, table, inbox, move, settle, interrupt, releaseSteers })
  const dispatch = createDispatchRun({ database, table, inbox, outbox, tasks, move })
  const follow = createFollowRun({ ...deps, table, inbox, steers, endTurn, settle })
  const performRun = createPerformRun({
    ...deps,
    table,
    dispatch,
    follow,
    followed,
    pulses,
    interrupt,
    settle,
    move,
  })
  const recover = createRecoverRun({ ...deps, table, performRun, pulses, interrupt })
  const lanes = createLanes({ ...deps, table, performRun, recover, bell })
  const live = createLiveRuns(table)
  const delivery = createDeliverSteers({ ...deps, table, steers })
  const lease = createLease({ table, followed, pulses, bell, clock })
  const expireRuns = createExpireRuns({ ...deps, table, settle, followed, outbox })
  const wakeDue = () => table.agentsWithWork(clock.now()).forEach((agentId) => bell.ring(agentId))
  const sweeps = [
    { name: 'leases', run: () => lease.sweep() },
    { name: 'expiry', run: expireRuns },
    { name: 'due runs', run: wakeDue },
  ]
  const closing = new AbortController()
  let sweeping = Promise.resolve()

  return {
    submitRun: createSubmitRun({ ...deps, table, steers, enter }),
    steerRun: createSteerRun({ ...deps, table, steers, become, live, deliver: delivery.deliver }),
    takeSteers: createTakeSteers({ ...deps, table, steers, live }),
    cancelRun: createCancelRun({ ...deps, table, settle, followed }),
    subscribe: createSubscribeRun({ table, events: deps.events, outbox }),
    live,
    tellRun,
    lease,
    outbox,
    find: table.find,
    runIn: table.runIn,
    treeOf: table.treeOf,
    chainOf: table.chainOf,
    list: table.list,
    view: (run) =>
      runView(
        run,
        run.state === 'waiting' ? tasks.openChildren(run.id) : [],
        steers.ofRun(run.id).map(steerView),
      ),
    countByState: table.countByState,
    endedSince: table.endedSince,
    laneOf: table.laneOf,
    isLaneFull: (place) => isLaneFull({ table, steers }, place),
    agentGone: (agentId) => {
      const run = table.runningOf(agentId)
      if (!run) return
      followed.letGo(run.id)
      bell.ring(agentId)
    },
    proactiveOf: table.proactiveOf,
    heartbeatsUnderWay: table.heartbeatsUnderWay,
    releaseProactive: (agentId) => {
      table.requeueProactive(agentId, clock.now())
      database.afterCommit(() => bell.ring(agentId))
    },
    addRunCost: table.addCost,
    start: () => {
      // The first round is before the lanes: nothing that has expired meanwhile begins.
      sweeping = runSweeps({ sweeps, clock, log, signal: closing.signal })
      lanes.start()
    },
    close: async () => {
      closing.abort()
      await Promise.all([sweeping, lanes.close(), delivery.close()])
    },
  }
}

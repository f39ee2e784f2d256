import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import type { AgentConnections, AgentRuns } from '../../agents/index.ts'
import type { Log } from '../../platform/index.ts'
import type { Database } from '../../storage/index.ts'
import type { BindNotes } from '../delivery/notify-run.ts'
import type { HoldLease } from '../hold-lease.ts'
import type { RunChanges } from './change-run.ts'
import type { FollowedRuns } from './followed-runs.ts'
import type { FollowRun } from './follow-run.ts'
import type { RunPulses } from './run-pulses.ts'
import { failedOutcome } from './run-record.ts'
import type { RunRecord } from './run-record.ts'
import type { RunTable } from './run-table.ts'
import type { RunTasks } from './run-tasks.ts'

/** A fleet that is paused, and an agent in quarantine, are asked again after so long, milliseconds. */
const pausedRetryMs = 15_000

/** Only the owner can change it; another attempt would say the same, later. */
const ownerMends: string[] = ['not-configured', 'data-full', 'isolation-unavailable', 'agent-archived']

export interface PerformRun {
  /** Dispatches a queued run and follows it. Returns when the lane must look at the rows again. */
  perform(run: RunRecord, closing: AbortSignal): Promise<void>
  /** Follows a run that is running already, over a line that answers. */
  attach(run: RunRecord, connection: AgentRuns, closing: AbortSignal): Promise<void>
}

interface PerformRunDeps {
  readonly database: Database
  readonly table: RunTable
  readonly tasks: RunTasks
  readonly connections: AgentConnections
  readonly follow: FollowRun
  readonly followed: FollowedRuns
  readonly pulses: Pick<RunPulses, 'heartbeat'>
  readonly holdLease: HoldLease
  readonly changes: RunChanges
  readonly bindNotes: BindNotes
  readonly clock: Clock
  readonly log: Log
}

export function createPerformRun(deps: PerformRunDeps): PerformRun {
  const { table, followed, follow, log } = deps

  async function attached(
    run: RunRecord,
    connection: AgentRuns,
    signals: { following: AbortSignal; closing: AbortSignal },
  ): Promise<void> {
    try {
      if (isLive(table, run)) await follow(run, connection, signals.following)
    } catch (error) {
      log.warn(
        { runId: run.id, agentId: run.agentId, err: error },
        'the line to a run at work broke; its lane asks the agent about it next',
      )
    }
    await tellIfEnded(deps, run, { connection, closing: signals.closing })
  }

  return {
    perform: async (queued, closing) => {
      const run = dispatch(deps, queued)
      if (!run) return
      await followed.during(run.id, closing, async (following) => {
        const connection = await reach(deps, run, following)
        if (!connection) return
        // Not before: the task of an agent that cannot be reached waits, and says so.
        deps.tasks.began(run)
        await attached(run, connection, { following, closing })
      })
    },
    attach: (run, connection, closing) =>
      followed.during(run.id, closing, (following) => attached(run, connection, { following, closing })),
  }
}

function isLive(table: RunTable, run: RunRecord): boolean {
  const row = table.find(run.id)
  return row?.state === 'running' && row.fence === run.fence
}

/** The agent's line, its sandbox started where needed; null when there is none, and the run is dealt with. */
async function reach(
  deps: PerformRunDeps,
  run: RunRecord,
  following: AbortSignal,
): Promise<AgentRuns | null> {
  deps.pulses.heartbeat(run)
  // While its sandbox starts, the run's lease is the mesh's business: no agent is there to renew it.
  const letGo = deps.holdLease({ runId: run.id, fence: run.fence })
  try {
    return await deps.connections.ensureRunning(run.agentId, following, { withoutModel: run.kind === 'tool' })
  } catch (error) {
    if (!following.aborted) unreachable(deps, run, error)
    return null
  } finally {
    letGo()
  }
}

function unreachable({ changes, log, clock }: PerformRunDeps, run: RunRecord, error: unknown): void {
  const problem = error instanceof Problem ? error : new Problem('internal-error', { cause: error })
  const { code, detail } = problem
  if (code === 'fleet-paused' || code === 'agent-quarantined') {
    // Not the run's fault, and people know of it: it waits, and no attempt is used up.
    return void changes.move(run, { kind: 'postponed', availableAt: clock.now() + pausedRetryMs })
  }
  log.warn(
    { runId: run.id, agentId: run.agentId, code, err: error },
    'the agent of a run was not reached; by the code the run is tried again or fails',
  )
  if (code === 'unknown-agent') changes.settle(run, failedOutcome(run, code, 'The agent was deleted.'))
  else if (ownerMends.includes(code)) changes.settle(run, failedOutcome(run, code, detail))
  else changes.interrupt(run, `its agent could not be started or reached (${detail})`)
}

/** The lane is not free before an agent whose run was ended from outside has been told to stop. */
async function tellIfEnded(
  deps: PerformRunDeps,
  run: RunRecord,
  { connection, closing }: { readonly connection: AgentRuns; readonly closing: AbortSignal },
): Promise<void> {
  const row = deps.table.find(run.id)
  const endedByAgent = row?.state === 'done' || row?.state === 'failed'
  if (closing.aborted || !row || !isTerminal(row.state)) return
  if (endedByAgent && row.outcome?.code !== 'upstream-timeout') return
  try {
    await connection.cancel(run.id, run.fence, closing)
  } catch (error) {
    deps.log.warn(
      { runId: run.id, agentId: run.agentId, err: error },
      'an agent was not told that its run has ended; the fence of its next run ends it',
    )
  }
}

/**
 * Takes a queued run into its lane: as it is running now, under a fence of its own; null when it is not queued any more.
 */
function dispatch(deps: PerformRunDeps, run: RunRecord): RunRecord | null {
  const { table, changes } = deps
  return deps.database.transaction(() => {
    const queued = table.find(run.id)
    if (queued?.state !== 'queued') return null
    const running = changes.move(queued, { kind: 'dispatched', fence: table.nextFence(queued.agentId) })
    if (!running) return null
    if (running.turn > 0) deps.bindNotes(running)
    return running
  })
}

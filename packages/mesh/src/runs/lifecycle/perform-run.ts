import type { Clock } from '@flotilla/protocol/clock'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import type { AgentConnection, AgentConnections } from '../../agents/index.ts'
import type { Log } from '../../platform/index.ts'
import type { DispatchRun } from '../queue/dispatch-run.ts'
import type { FollowRun } from './follow-run.ts'
import type { FollowedRuns } from './followed-runs.ts'
import type { InterruptRun } from './interrupt-run.ts'
import type { MoveRun } from './move-run.ts'
import { failedOutcome } from './outcome-of.ts'
import type { RunPulses } from './run-pulses.ts'
import type { RunRecord } from './run-record.ts'
import type { RunTable } from './run-table.ts'
import type { SettleRun } from './settle-run.ts'

/** A fleet that is paused is tried again after so long, milliseconds. */
const pausedRetryMs = 15_000

export interface PerformRun {
  /** Dispatches a queued run and follows it. Returns when the lane must look at the rows again. */
  perform(run: RunRecord, closing: AbortSignal): Promise<void>
  /** Follows a run that is running already, over a line that answers. */
  attach(run: RunRecord, connection: AgentConnection, closing: AbortSignal): Promise<void>
}

export interface PerformRunDeps {
  readonly table: RunTable
  readonly connections: AgentConnections
  readonly dispatch: DispatchRun
  readonly follow: FollowRun
  readonly followed: FollowedRuns
  readonly pulses: RunPulses
  readonly interrupt: InterruptRun
  readonly settle: SettleRun
  readonly move: MoveRun
  readonly clock: Clock
  readonly log: Log
}

export function createPerformRun(deps: PerformRunDeps): PerformRun {
  const { table, followed, follow, log } = deps

  async function attached(
    run: RunRecord,
    connection: AgentConnection,
    signals: { following: AbortSignal; closing: AbortSignal },
  ): Promise<void> {
    try {
      if (isLive(table, run)) await follow(run, connection, signals.following)
    } catch (error) {
      log.warn({ runId: run.id, agentId: run.agentId, err: error }, 'line to a running run lost')
    }
    await tellIfEnded(deps, run, { connection, closing: signals.closing })
  }

  return {
    perform: async (queued, closing) => {
      const run = deps.dispatch(queued)
      if (!run) return
      await followed.during(run.id, closing, async (following) => {
        const connection = await reach(deps, run, following)
        if (connection) await attached(run, connection, { following, closing })
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
): Promise<AgentConnection | null> {
  const reached = new AbortController()
  deps.pulses.beat(run)
  const holding = holdLease(deps, run, AbortSignal.any([following, reached.signal]))
  try {
    return await deps.connections.ensureRunning(run.agentId, following, { withoutModel: run.kind === 'tool' })
  } catch (error) {
    if (!following.aborted) unreachable(deps, run, error)
    return null
  } finally {
    reached.abort()
    await holding
  }
}

/** While its sandbox starts, the run's lease is the mesh's business: no agent is there to renew it. */
async function holdLease(deps: PerformRunDeps, run: RunRecord, signal: AbortSignal): Promise<void> {
  try {
    while (!signal.aborted) {
      await deps.clock.sleep(wireLimits.leaseRenewalMs, signal)
      deps.table.renewLease(run.id, run.fence, deps.clock.now() + wireLimits.leaseMs)
      deps.pulses.beat(run)
    }
  } catch (error) {
    if (!signal.aborted) deps.log.error({ runId: run.id, err: error }, 'lease of a starting run not renewed')
  }
}

function unreachable(deps: PerformRunDeps, run: RunRecord, error: unknown): void {
  const problem = error instanceof Problem ? error : new Problem('internal-error', { cause: error })
  deps.log.warn({ runId: run.id, agentId: run.agentId, err: error }, 'agent of a run not reached')
  if (problem.code === 'fleet-paused') {
    deps.move(run, { kind: 'postponed', availableAt: deps.clock.now() + pausedRetryMs })
  } else if (problem.code === 'unknown-agent') {
    deps.settle(run, failedOutcome(run, 'unknown-agent', 'The agent was deleted.'))
  } else if (problem.code === 'not-configured' || problem.code === 'data-full') {
    // Only the owner can change that; another attempt would say the same, later.
    deps.settle(run, failedOutcome(run, problem.code, problem.detail))
  } else {
    deps.interrupt(run, `its agent could not be started or reached (${problem.detail})`)
  }
}

/** The lane is not free before an agent whose run was ended from outside has been told to stop. */
async function tellIfEnded(
  deps: PerformRunDeps,
  run: RunRecord,
  { connection, closing }: { readonly connection: AgentConnection; readonly closing: AbortSignal },
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
      'agent not told that its run has ended',
    )
  }
}

import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import type { AgentConnections, AgentRuns } from '@flotilla/fleet/agents'
import type { Log } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'
import type { BindNotes } from '../delivery/notify-run.ts'
import type { HoldLease } from '../hold-lease.ts'
import type { RunChanges } from '../ledger/change-run.ts'
import type { FollowedRuns } from './followed-runs.ts'
import type { FollowRun } from './follow-run.ts'
import type { RunPulses } from './run-pulses.ts'
import { failedOutcome } from '../ledger/run-record.ts'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { RunTasks } from '../ledger/run-tasks.ts'

/** Retry interval while the fleet is paused, the agent is in quarantine or waits for memory or packages, milliseconds. */
const pausedRetryMs = 15_000

/** Problems that pass without the run; until then it waits and uses no attempt. */
const waits: string[] = ['fleet-paused', 'agent-quarantined', 'machine-full', 'packages-delayed']

/** Problems that only the owner can repair; another attempt would fail in the same way. */
const ownerRepairs: string[] = [
  'not-configured',
  'data-full',
  'isolation-unavailable',
  'packages-unavailable',
  'size-unavailable',
  'agent-archived',
]

export interface PerformRun {
  /** Dispatches a queued run and follows it. Returns when the lane must read the rows again. */
  perform(run: RunRecord, closing: AbortSignal): Promise<void>
  /** Follows a run that is running already, over a working connection. */
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
        'lost the connection to a running run; asking the agent about it',
      )
    }
    await stopIfEnded(deps, run, { connection, closing: signals.closing })
  }

  return {
    perform: async (queued, closing) => {
      const run = dispatch(deps, queued)
      if (!run) return
      await followed.during(run.id, closing, async (following) => {
        const connection = await reach(deps, run, following)
        if (!connection) return
        // Called only once the agent is reached: until then its task must be shown as waiting.
        deps.tasks.began(run)
        await attached(run, connection, { following, closing })
      })
    },
    attach: (run, connection, closing) =>
      followed.during(run.id, closing, (following) => attached(run, connection, { following, closing })),
  }
}

/** Moves a queued run to running under a new fencing token; returns null when it is no longer queued. */
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

/** Connects to the agent and starts its sandbox if needed; null on abort, or on failure (see `unreachable`). */
async function reach(
  deps: PerformRunDeps,
  run: RunRecord,
  following: AbortSignal,
): Promise<AgentRuns | null> {
  deps.pulses.heartbeat(run)
  // The mesh renews the run's lease while the sandbox starts, because the agent cannot do so yet.
  const releaseLease = deps.holdLease({ runId: run.id, fence: run.fence })
  try {
    return await deps.connections.ensureRunning(run.agentId, following, { withoutModel: run.kind === 'tool' })
  } catch (error) {
    if (!following.aborted) unreachable(deps, run, error)
    return null
  } finally {
    releaseLease()
  }
}

function unreachable({ changes, log, clock }: PerformRunDeps, run: RunRecord, error: unknown): void {
  const problem = error instanceof Problem ? error : new Problem('internal-error', { cause: error })
  const { code, detail } = problem
  if (waits.includes(code)) {
    // The run did not cause the problem, which people can see. So the run waits and uses no attempt.
    return void changes.move(run, { kind: 'postponed', availableAt: clock.now() + pausedRetryMs })
  }
  log.warn(
    { runId: run.id, agentId: run.agentId, code, err: error },
    'failed to reach the agent of a run; the mesh retries the run, or ends it as failed if the error is permanent',
  )
  if (code === 'unknown-agent') changes.settle(run, failedOutcome(run, code, 'The agent was deleted.'))
  else if (ownerRepairs.includes(code)) changes.settle(run, failedOutcome(run, code, detail))
  else changes.interrupt(run, `the agent could not be started or reached (${detail})`)
}

function isLive(table: RunTable, run: RunRecord): boolean {
  const row = table.find(run.id)
  return row?.state === 'running' && row.fence === run.fence
}

/** If the run was not ended by its agent, keeps the lane occupied until the agent was asked to stop. */
async function stopIfEnded(
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
      'failed to inform an agent that its run has ended; the fencing token of its next run stops it',
    )
  }
}

import type { TaskResult } from '@flotilla/protocol/agent-api'
import type { Origin } from '@flotilla/protocol/origin'
import { Problem } from '@flotilla/protocol/problem'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import type { AgentRuns } from '@flotilla/fleet/agents'
import type { Log } from '@flotilla/foundation/platform'
import type { WorkEvents } from '../../events/index.ts'
import { storageFaultOf } from '@flotilla/foundation/storage'
import { showFrames } from '../delivery/announce-frame.ts'
import { continuationText } from '../delivery/continuation-text.ts'
import { sessionOf } from '../conversation.ts'
import type { SettleRun } from '../ledger/change-run.ts'
import type { EndTurn } from './end-turn.ts'
import type { RunInbox } from '../ledger/run-inbox.ts'
import { giveWork, pollOutcome, taskBeside } from './give-work.ts'
import type { GiveWorkDeps, Line } from './give-work.ts'
import { failedOutcome } from '../ledger/run-record.ts'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'
import { steersBeside } from '../steering/steer-view.ts'

/** Problems by which an agent says that it can never carry out a request; every retry would fail, too. */
const permanentFailures: readonly ProblemCode[] = [
  'body-too-large',
  'unprocessable',
  'path-refused',
  'not-found',
]

/**
 * Sends a running run to its agent, or attaches to it, and follows it to the end of its turn. Returns early when the
 * agent was lost or the signal fired; the lane then reads the row again. Rejects when the connection fails.
 */
export type FollowRun = (run: RunRecord, connection: AgentRuns, signal: AbortSignal) => Promise<void>

interface FollowRunDeps extends GiveWorkDeps {
  readonly table: RunTable
  readonly inbox: RunInbox
  readonly endTurn: EndTurn
  readonly settle: SettleRun
  readonly workEvents: Pick<WorkEvents, 'entriesPromoted'>
  readonly log: Log
}

export function createFollowRun(deps: FollowRunDeps): FollowRun {
  async function outcome(run: RunRecord, connection: AgentRuns, signal: AbortSignal) {
    if (run.turn > 0 || run.input.kind === 'chat' || run.input.kind === 'heartbeat') {
      return (
        (await speak(deps, run, { connection, signal })) ?? pollOutcome(deps, run, { connection, signal })
      )
    }
    return giveWork(deps, run, { connection, signal })
  }

  return async (run, connection, signal) => {
    try {
      const result = await outcome(run, connection, signal)
      if (!result || signal.aborted) return
      promoteOf(deps, run, result)
      deps.endTurn(run, result)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof Problem) || !permanentFailures.includes(error.code)) throw error
      deps.settle(run, failedOutcome(run, error.code, `The agent rejected the run: ${error.detail}`))
    }
  }
}

/** Runs a turn of a chat or a heartbeat and returns its result; null when the stream broke. */
function speak(
  deps: FollowRunDeps,
  run: RunRecord,
  { connection, signal }: Line,
): Promise<TaskResult | null> {
  const request = {
    run_id: run.id,
    fence: run.fence,
    message: messageOf(deps, run),
    origin: turnOrigin(run),
    ...steersBeside(deps.steers.ofTurn(run.id, run.turn)),
  }
  const onFrame = showFrames(deps, run, signal)
  return run.input.kind === 'heartbeat'
    ? connection.heartbeat({ ...request, continues: run.turn > 0 }, onFrame, signal)
    : connection.chatStream(
        { ...request, session: sessionOf(run), ...taskBeside(deps.table, run) },
        onFrame,
        signal,
      )
}

function messageOf(deps: FollowRunDeps, run: RunRecord): string {
  if (run.turn > 0) {
    const notes = deps.inbox.ofTurn(run.id, run.turn).map((row) => row.note)
    const work = run.taskId === null ? null : deps.tasks.work(run.taskId, run.id)
    return continuationText(notes, run.taskId !== null && work ? { taskId: run.taskId, ...work } : null)
  }
  return run.input.kind === 'chat' || run.input.kind === 'heartbeat' ? run.input.message : ''
}

/** Returns a turn's origin. A later turn contains results of other agents, so its origin is an agent. */
function turnOrigin(run: RunRecord): Origin {
  return run.turn > 0 ? { kind: 'agent', channel: 'agent' } : run.origin
}

/**
 * While the run is live, writes the entries that it promotes; a rejected entry is logged and does not delay the
 * outcome. Throws if the disk refuses the write: the outcome then has to wait for the disk too.
 */
function promoteOf(deps: FollowRunDeps, run: RunRecord, result: TaskResult): void {
  if (Object.keys(result.promote_to_blackboard).length === 0) return
  const row = deps.table.find(run.id)
  if (row?.state !== 'running' || row.fence !== result.fence) return
  try {
    const entries = result.promote_to_blackboard
    deps.workEvents.entriesPromoted.publish({ runId: run.id, agentId: run.agentId, entries })
  } catch (error) {
    if (storageFaultOf(error) !== null) throw error
    deps.log.warn(
      { runId: run.id, agentId: run.agentId, err: error },
      'failed to write a turn’s entries to the blackboard; the outcome is recorded without them',
    )
  }
}

import type { TaskResult } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { TaskAssignment, TaskTurn, TokenBudget } from '@flotilla/protocol/task'
import type { AgentRuns } from '@flotilla/fleet/agents'
import type { EventBus } from '@flotilla/foundation/events'
import { sessionOf } from '../conversation.ts'
import { showFrames } from '../delivery/announce-frame.ts'
import type { SteerTable } from '../steering/steer-table.ts'
import { steersBeside } from '../steering/steer-view.ts'
import type { RunRecord } from '../ledger/run-record.ts'
import type { RunTable } from '../ledger/run-table.ts'
import type { RunTasks } from '../ledger/run-tasks.ts'
import { runLimits } from '../run-limits.ts'

/**
 * Duration of one long poll, seconds; and the minimum time between two polls, milliseconds, for an agent that answers
 * at once.
 */
const pollSeconds = 25
/** The pause before an agent is asked again whether it can start a run or has its outcome, in milliseconds. */
const pollRestMs = 500
/** How long the mesh waits for the last frames of a run whose outcome it has, milliseconds. */
const lastFramesMs = 250
/** How often an agent that works on another run is asked again, each time after `pollRestMs`. */
const busyTriesMax = 40
/** Time limit of one turn, seconds. The agent gets this limit, and the ledger enforces it a little later. */
export const turnTimeoutSeconds = 4 * 3600

export interface GiveWorkDeps {
  readonly steers: SteerTable
  readonly tasks: RunTasks
  readonly events: EventBus
  readonly clock: Clock
}

/** A connection to the agent of a running run, and the signal that stops following the run. */
export interface Line {
  readonly connection: AgentRuns
  readonly signal: AbortSignal
}

/**
 * Sends a task or tool call and polls for its result. Null when the agent did not accept or does not know the run.
 */
export async function giveWork(deps: GiveWorkDeps, run: RunRecord, line: Line): Promise<TaskResult | null> {
  return (await send(deps, run, line)) ? watched(deps, run, line) : null
}

/** Sends a task or a tool call. Returns false when the agent did not accept it. */
async function send(deps: GiveWorkDeps, run: RunRecord, { connection, signal }: Line): Promise<boolean> {
  for (let tries = 0; tries < busyTriesMax; tries++) {
    if (await sendOnce(deps, run, { connection, signal })) return true
    await deps.clock.sleep(pollRestMs, signal)
  }
  return false
}

function sendOnce(deps: GiveWorkDeps, run: RunRecord, { connection, signal }: Line): Promise<boolean> {
  if (run.input.kind === 'tool') {
    const { tool, params } = run.input
    return connection.invoke({ run_id: run.id, fence: run.fence, tool, params, origin: run.origin }, signal)
  }
  const assignment = taskAssignment(run, deps.tasks)
  if (!assignment) throw new Problem('not-found', { detail: 'the task of the run no longer exists' })
  const steers = steersBeside(deps.steers.ofTurn(run.id, run.turn))
  return connection.task({ ...assignment, origin: run.origin, ...steers }, signal)
}

/** Returns the outcome of a task or tool call; publishes the agent's frames until then. */
async function watched(
  deps: GiveWorkDeps,
  run: RunRecord,
  { connection, signal }: Line,
): Promise<TaskResult | null> {
  const ended = new AbortController()
  const watching = AbortSignal.any([signal, ended.signal])
  const shown = connection.watch(run.id, showFrames(deps, run, watching), watching)
  try {
    return await pollOutcome(deps, run, { connection, signal })
  } finally {
    // Waits for frames that have arrived, but only briefly, in case the connection is dead.
    await Promise.race([shown, deps.clock.sleep(lastFramesMs).catch(() => {})])
    ended.abort()
  }
}

/** Polls for the outcome under this run's fencing token and returns it; null when the agent does not know the run. */
export async function pollOutcome(
  deps: GiveWorkDeps,
  run: RunRecord,
  { connection, signal }: Line,
): Promise<TaskResult | null> {
  while (!signal.aborted) {
    const begun = deps.clock.now()
    const reply = await connection.result(run.id, pollSeconds, signal)
    if (reply.state === 'finished') return reply.result.fence === run.fence ? reply.result : null
    if (reply.state === 'unknown' || reply.fence !== run.fence) return null
    const rest = pollRestMs - (deps.clock.now() - begun)
    if (rest > 0) await deps.clock.sleep(rest, signal)
  }
  return null
}

/** Returns the assignment of a task; null when the task does not exist. `context.session`: session of later turns. */
export function taskAssignment(run: RunRecord, tasks: RunTasks): TaskAssignment | null {
  if (run.input.kind !== 'task') return null
  const work = tasks.work(run.input.task_id, run.id)
  if (!work) return null
  return {
    task_id: run.input.task_id,
    run_id: run.id,
    fence: run.fence,
    task_type: 'hand_off',
    input_data: work.inputData,
    context: { ...work.context, session: sessionOf(run) },
    timeout_s: turnTimeoutSeconds,
    max_retries: runLimits.runAttemptsMax - 1,
    token_budget: budgetOf(run),
    ...(work.answer === null ? {} : { answer: work.answer }),
  }
}

/** Returns what a later turn of a task gets besides its message, so that the limits of the whole task apply. */
export function taskBeside(table: Pick<RunTable, 'usedBy'>, run: RunRecord): { readonly task?: TaskTurn } {
  if (run.input.kind !== 'task') return {}
  const { tokens, costUsd } = table.usedBy(run.id)
  const task = {
    task_id: run.input.task_id,
    token_budget: budgetOf(run),
    tokens_used: tokens,
    cost_usd: costUsd,
  }
  return { task }
}

/** Returns the limits that the agent receives; the model gateway enforces them in every turn. */
function budgetOf({ budgetTokens, budgetUsd }: RunRecord): TokenBudget | null {
  if (budgetTokens === null && budgetUsd === null) return null
  return { max_tokens: budgetTokens, max_cost_usd: budgetUsd }
}

import type { ChatFrame, TaskResult } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import type { Origin } from '@flotilla/protocol/origin'
import { Problem } from '@flotilla/protocol/problem'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import type { EventBus } from '../../events/index.ts'
import type { AgentConnection } from '../../agents/index.ts'
import type { Log } from '../../platform/index.ts'
import type { Hooks } from '../../kernel/index.ts'
import { frameEvent } from '../delivery/announce-frame.ts'
import { continuationText } from './continuation-text.ts'
import type { EndTurn } from './end-turn.ts'
import { failedOutcome } from './outcome-of.ts'
import type { RunInbox } from '../delivery/run-inbox.ts'
import type { RunRecord } from './run-record.ts'
import type { RunTable } from './run-table.ts'
import type { RunTasks } from './run-tasks.ts'
import type { SettleRun } from './settle-run.ts'
import type { SteerTable } from '../steering/steer-table.ts'
import { steersBeside } from '../steering/steer-view.ts'
import { sessionOf, taskAssignment, taskBeside } from './task-assignment.ts'

/** One long poll, seconds; and the least time between two, milliseconds, for an agent that answers at once. */
const pollSeconds = 25
const pollRestMs = 500
/** For the last frames of a run whose outcome is known already. */
const lastFramesMs = 250
/** Frames of one run that become rows, per second: each is a write that every other agent waits for. */
const keptFramesPerSecond = 50
/** An agent that another run holds is asked again so often, each after `pollRestMs`. */
const busyTriesMax = 40

/** The agent says that what it got can never be carried out; another attempt would say the same. */
const hopeless: readonly ProblemCode[] = ['body-too-large', 'unprocessable', 'path-refused', 'not-found']

/**
 * Sends a running run to its agent, or attaches to it, and follows it to the end of its turn. Returns without an
 * end when the agent was lost or the signal fired: the lane then looks at the row. Rejects as the line does.
 */
export type FollowRun = (run: RunRecord, connection: AgentConnection, signal: AbortSignal) => Promise<void>

export interface FollowRunDeps {
  readonly table: RunTable
  readonly inbox: RunInbox
  readonly steers: SteerTable
  readonly tasks: RunTasks
  readonly events: EventBus
  readonly endTurn: EndTurn
  readonly settle: SettleRun
  readonly hooks: Pick<Hooks, 'entriesPromoted'>
  readonly clock: Clock
  readonly log: Log
}

export function createFollowRun(deps: FollowRunDeps): FollowRun {
  async function outcome(run: RunRecord, connection: AgentConnection, signal: AbortSignal) {
    if (run.turn > 0 || run.input.kind === 'chat' || run.input.kind === 'heartbeat') {
      return (await speak(deps, run, { connection, signal })) ?? poll(deps, run, { connection, signal })
    }
    const taken = await send(deps, run, { connection, signal })
    return taken ? watched(deps, run, { connection, signal }) : null
  }

  return async (run, connection, signal) => {
    try {
      const result = await outcome(run, connection, signal)
      if (!result || signal.aborted) return
      promoteOf(deps, run, result)
      deps.endTurn(run, result)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof Problem) || !hopeless.includes(error.code)) throw error
      deps.settle(run, failedOutcome(run, error.code, `The agent refused the work: ${error.detail}`))
    }
  }
}

interface Line {
  readonly connection: AgentConnection
  readonly signal: AbortSignal
}

/** A turn of a conversation or of a heartbeat; null when the stream broke. */
function speak(
  deps: FollowRunDeps,
  run: RunRecord,
  { connection, signal }: Line,
): Promise<TaskResult | null> {
  const request = {
    run_id: run.id,
    fence: run.fence,
    message: messageOf(deps, run),
    origin: wordsFrom(run),
    ...steersBeside(deps.steers.ofTurn(run.id, run.turn)),
  }
  const onFrame = show(deps, run, signal)
  return run.input.kind === 'heartbeat'
    ? connection.heartbeat({ ...request, continues: run.turn > 0 }, onFrame, signal)
    : connection.chatStream(
        { ...request, session: sessionOf(run), ...taskBeside(deps.table, run) },
        onFrame,
        signal,
      )
}

/** For people to look at: what comes faster than anyone could read is left out, and stands in the result. */
function show(deps: FollowRunDeps, run: RunRecord, signal: AbortSignal): (frame: ChatFrame) => void {
  const second = { number: 0, kept: 0 }
  return (frame) => {
    const event = signal.aborted ? null : frameEvent(run, frame)
    if (!event) return
    if (event.type !== 'text.streamed') {
      const now = Math.floor(deps.clock.now() / 1000)
      if (second.number !== now) Object.assign(second, { number: now, kept: 0 })
      second.kept++
      if (second.kept > keptFramesPerSecond) return
    }
    deps.events.publish(event)
  }
}

function messageOf(deps: FollowRunDeps, run: RunRecord): string {
  if (run.turn > 0) {
    const notes = deps.inbox.ofTurn(run.id, run.turn).map((row) => row.note)
    const work = run.taskId === null ? null : deps.tasks.work(run.taskId)
    return continuationText(notes, run.taskId !== null && work ? { taskId: run.taskId, ...work } : null)
  }
  return run.input.kind === 'chat' || run.input.kind === 'heartbeat' ? run.input.message : ''
}

/** A later turn reads what other agents made of the work that it gave them, whoever began it. */
function wordsFrom(run: RunRecord): Origin {
  return run.turn > 0 ? { kind: 'agent', channel: 'agent' } : run.origin
}

/** Gives a task or a tool call; false when the agent would not take it. */
async function send(deps: FollowRunDeps, run: RunRecord, { connection, signal }: Line): Promise<boolean> {
  for (let tries = 0; tries < busyTriesMax; tries++) {
    if (await sendOnce(deps, run, { connection, signal })) return true
    await deps.clock.sleep(pollRestMs, signal)
  }
  return false
}

function sendOnce(deps: FollowRunDeps, run: RunRecord, { connection, signal }: Line): Promise<boolean> {
  if (run.input.kind === 'tool') {
    const { tool, params } = run.input
    return connection.invoke({ run_id: run.id, fence: run.fence, tool, params, origin: run.origin }, signal)
  }
  const assignment = taskAssignment(run, deps.tasks)
  if (!assignment) throw new Problem('not-found', { detail: 'its task is gone' })
  const steers = steersBeside(deps.steers.ofTurn(run.id, run.turn))
  return connection.task({ ...assignment, origin: run.origin, ...steers }, signal)
}

/** Waits for the outcome of work that is not a conversation, and shows meanwhile what the agent does. */
async function watched(
  deps: FollowRunDeps,
  run: RunRecord,
  { connection, signal }: Line,
): Promise<TaskResult | null> {
  const ended = new AbortController()
  const watching = AbortSignal.any([signal, ended.signal])
  const shown = connection.watch(run.id, show(deps, run, watching), watching)
  try {
    return await poll(deps, run, { connection, signal })
  } finally {
    // What is on the line already is shown, and nobody waits for a line that is dead.
    await Promise.race([shown, deps.clock.sleep(lastFramesMs).catch(() => {})])
    ended.abort()
  }
}

/** Waits for the outcome under this run's fence; null when the agent knows nothing of it. */
async function poll(
  deps: FollowRunDeps,
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

/** Before the turn ends, while the run is live; what is refused is logged and does not hold up the outcome. */
function promoteOf(deps: FollowRunDeps, run: RunRecord, result: TaskResult): void {
  if (Object.keys(result.promote_to_blackboard).length === 0) return
  const row = deps.table.find(run.id)
  if (row?.state !== 'running' || row.fence !== result.fence) return
  try {
    const entries = result.promote_to_blackboard
    deps.hooks.entriesPromoted.tell({ runId: run.id, agentId: run.agentId, entries })
  } catch (error) {
    deps.log.warn({ runId: run.id, agentId: run.agentId, err: error }, 'promotion to the blackboard refused')
  }
}

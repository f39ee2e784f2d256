import { withoutTurn } from '../context/ask-repaired.ts'
import type { RunTicket } from '../mesh/mesh-http.ts'
import type { TaskCompletion } from '../tools/tool.ts'
import { dropUnacknowledged } from './apply-steers.ts'
import type { LoopDeps, LoopEnd, RunAttempt, RunContext, RunRules, RunStores } from './loop-deps.ts'
import { closedMessages } from './close-messages.ts'
import { freshState, waitsForOthers } from './loop-state.ts'
import type { LoopState } from './loop-state.ts'
import { provenanceOf } from './run-provenance.ts'
import type { RunBeginning } from './run-provenance.ts'
import type { ExecutedRun } from './run-slot.ts'
import { taskResult } from './task-result.ts'
import type { RunEnd } from './task-result.ts'
import type { Session } from './sessions.ts'

/** The dependencies of the loop that runs of every kind share; each kind adds its own. */
export function loopDepsOf(context: RunContext): Omit<LoopDeps, 'work'> {
  const { checkpoints, hooks, model, mesh, tools, subagents, learnings, images, clock, reminders } = context
  return {
    model,
    context: context.context,
    mesh,
    tools,
    subagents,
    learnings,
    images,
    clock,
    reminders,
    saveCheckpoint: (state) => checkpoints.save(state),
    steers: hooks.steers,
    watch: hooks,
  }
}

/** Returns the checkpoint if the run was interrupted and has the same input; else its start state, already stored. */
export async function resumeState(
  context: RunAttempt & Pick<RunStores, 'checkpoints'> & Pick<RunRules, 'clock'>,
  runId: string,
  begin: Omit<Parameters<typeof freshState>[0], 'runId' | 'inputHash' | 'startedAt' | 'step'>,
): Promise<LoopState> {
  const found = await context.checkpoints.load(runId)
  if (found?.inputHash === context.inputHash) return found
  const state = freshState({
    runId,
    inputHash: context.inputHash,
    startedAt: context.clock.now(),
    step: Math.max(context.stepsUsed, found?.step ?? 0),
    ...begin,
  })
  await context.checkpoints.save(state)
  return state
}

/** The calls of a run that waited in this conversation, for its next turn; none for a new run. Pure. */
export function callsBefore({ waiting }: Pick<Session, 'waiting'>, runId: string): LoopState['calls'] {
  return waiting?.run === runId ? waiting.calls : []
}

/**
 * Stores the conversation at the end of a turn, unless another attempt continues it. After a failed turn the
 * conversation can still continue: every call has a result, and the reason is added.
 */
export async function closeTurn(
  context: Pick<RunAttempt, 'hooks'> & Pick<RunStores, 'sessions' | 'recordRun'> & Pick<RunRules, 'clock'>,
  turn: {
    session: string
    mark: number
    taskId: string | null
    beginning: RunBeginning
    /** The learnings in the system prompt of this turn. */
    learnings?: string | undefined
  },
  ended: { state: LoopState; end: RunEnd },
): Promise<void> {
  const { state, end } = ended
  if (context.hooks.isLeftToAnother()) return
  dropUnacknowledged(state)
  if (end.status !== 'complete' && end.code === 'history-refused' && turn.taskId === null)
    state.messages = withoutTurn(state.messages, state.runId)
  state.messages = closedMessages(state, end)
  const { messages, rounds, flushed } = state
  const { trust } = provenanceOf({ ...state, beginning: turn.beginning })
  const { session: sessionRounds, continues } = rounds
  const { taskId, learnings } = turn
  const endedAt = context.clock.now()
  const waiting = waitsForOthers(state) ? { run: state.runId, calls: state.calls } : undefined
  const stored = {
    messages,
    rounds: sessionRounds,
    continues,
    flushed,
    taskId,
    trust,
    learnings,
    endedAt,
    waiting,
  }
  await context.sessions.save(turn.session, stored, turn.mark)
  await context.recordRun({ session: turn.session, state, end })
}

/** The run's end after its loop has ended. Pure. */
export function endOfLoop(ended: LoopEnd): RunEnd {
  if (ended.kind === 'answered') return { status: 'complete', response: ended.text }
  if (ended.kind === 'completed') return completedEnd(ended.completion)
  return { status: 'failed', code: ended.code, detail: ended.detail }
}

/** The run's end when its agent closed the task. Pure. */
function completedEnd({ status, summary, result, promote }: TaskCompletion): RunEnd {
  if (status === 'done') return { status: 'complete', response: summary, result, promote }
  if (status === 'blocked') return { status: 'complete', response: summary, result }
  return { status: 'failed', code: 'unprocessable', detail: summary, response: summary, result }
}

/** The result for the slot: the agent's record of the run, and its last step. */
export function executedRun(
  { clock }: Pick<RunRules, 'clock'>,
  ticket: RunTicket,
  { state, end, taskId }: { readonly state: LoopState; readonly end: RunEnd; readonly taskId: string | null },
): ExecutedRun {
  const facts = { ...state, taskId, durationMs: clock.now() - state.startedAt }
  return { result: taskResult(ticket, end, facts), lastStep: state.step }
}

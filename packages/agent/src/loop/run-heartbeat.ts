import type { HeartbeatResult } from '@flotilla/protocol/agent-api'
import { heartbeatSession, isQuietReply } from '@flotilla/protocol/heartbeat-reply'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { withMoment } from '../prompt/moment-message.ts'
import { recentMessages } from './heartbeat-history.ts'
import type { LoopState } from './loop-state.ts'
import { callsBefore, closeTurn, executedRun, loopDepsOf, resumeState } from './turn.ts'
import type { RunContext } from './loop-deps.ts'
import type { ExecutedRun } from './run-slot.ts'
import type { RunRequest } from './run-request.ts'
import { beginningOf } from './run-provenance.ts'
import type { RunBeginning } from './run-provenance.ts'
import { abortedEnd } from './task-result.ts'
import type { RunEnd } from './task-result.ts'

const iterationsMax = 12 // limits:heartbeat-iterations

/**
 * Executes one heartbeat. All heartbeats share a conversation, and each sees its newest part so as not to repeat
 * itself. A heartbeat that found nothing is recorded neither there nor in a log; what others did is in the log of
 * heartbeats. That log does not count as activity, so no heartbeat triggers the next one.
 */
export async function runHeartbeat(
  context: RunContext,
  request: Extract<RunRequest, { kind: 'heartbeat' }>,
): Promise<ExecutedRun> {
  const before = await context.sessions.load(heartbeatSession)
  const { messages, mark, rounds } = before
  // The message contains daily logs, signals and tasks, which may have any author.
  const beginning = beginningOf(request.origin, 'outside')
  // A turn that continues the heartbeat, after handed-off work came back, gets the remaining rounds, at least one.
  const used = request.continues ? Math.min(rounds, iterationsMax - 1) : 0
  const state = await resumeState(context, request.runId, {
    messages: [
      ...recentMessages(messages),
      // Most of the message is the same at each heartbeat. The time is at its end, so that caches apply to what is
      // before it. It is no message of its own: the last message of the user is what the turn is about.
      {
        role: 'user',
        content: withMoment(sanitizeForPrompt(request.message), context.clock.now()),
        by: 'other',
      },
    ],
    rounds: { turn: used, session: used, continues: 0 },
    calls: callsBefore(before, request.runId),
  })
  const end = await endOf(context, state, beginning)
  const recorded = { ...context, recordRun: context.recordHeartbeat }
  const closing = { session: heartbeatSession, mark, taskId: null, beginning }
  if (leavesTrace(state, end)) await closeTurn(recorded, closing, { state, end })
  return executedRun(context, request, { state, end, taskId: null })
}

async function endOf(context: RunContext, state: LoopState, beginning: RunBeginning): Promise<RunEnd> {
  try {
    const ended = await context.runLoop(
      {
        ...loopDepsOf(context),
        work: {
          systemPrompt: await context.systemPrompt('heartbeat'),
          bounds: { kind: 'heartbeat', iterationsMax },
          spending: null,
          taskId: null,
          beginning,
          remindsOfTask: false,
          emptyRetriesMax: 1,
        },
      },
      state,
      context.signal,
    )
    if (ended.kind === 'failed') return { status: 'failed', code: ended.code, detail: ended.detail }
    const response = ended.kind === 'answered' ? ended.text : ended.completion.summary
    return { status: 'complete', response, result: resultOf(response, state) }
  } catch (error) {
    if (!context.signal.aborted) throw error
    return abortedEnd(context.signal)
  }
}

function resultOf(response: string, { toolOutputs }: LoopState): HeartbeatResult {
  return {
    outcome: isQuietReply(response) ? 'quiet' : 'reported',
    tools_used: [...new Set(toolOutputs.map(({ tool }) => tool))],
  }
}

/** True if anything was done, answered or received. */
function leavesTrace(state: LoopState, end: RunEnd): boolean {
  const quiet = end.status === 'complete' && isQuietReply(end.response)
  return !quiet || state.toolOutputs.length > 0 || state.steers.length > 0
}

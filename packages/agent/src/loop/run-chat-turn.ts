import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { LoopState } from './loop-state.ts'
import { openCalls } from './loop-state.ts'
import { resumeState } from './resume-state.ts'
import type { RunContext } from './run-context.ts'
import type { PerformedRun } from './run-desk.ts'
import type { RunRequest } from './run-request.ts'
import { runRounds } from './run-rounds.ts'
import type { RoundsEnd } from './run-rounds.ts'
import { taskResult } from './task-result.ts'
import type { RunEnd } from './task-result.ts'

const emptyRetriesMax = 1

/** One turn of a conversation: its history and a message in, the answer out, the conversation stored. */
export async function runChatTurn(
  context: RunContext,
  request: Extract<RunRequest, { kind: 'chat' }>,
): Promise<PerformedRun> {
  const { clock, sessions, bounds } = context
  const session = await sessions.load(request.session)
  const state = await resumeState(context, request.runId, {
    messages: [...session.messages, { role: 'user', content: sanitizeForPrompt(request.message) }],
    rounds: { turn: 0, session: session.rounds, continues: session.continues },
  })
  const end = await endOf(context, async () =>
    runRounds(
      {
        model: context.model,
        mesh: context.mesh,
        tools: context.tools,
        systemPrompt: await context.systemPrompt('chat'),
        bounds: {
          kind: 'chat',
          perTurnMax: bounds.chatRoundsPerTurnMax,
          perSessionMax: bounds.chatRoundsPerSessionMax,
        },
        spending: null,
        taskId: null,
        emptyRetriesMax,
        clock,
        saveCheckpoint: (current) => context.checkpoints.save(current),
        ...context.hooks,
      },
      state,
      context.signal,
    ),
  )
  if (!context.hooks.isLeftToAnother()) {
    closeTurn(state, end)
    const stored = {
      messages: state.messages,
      rounds: state.rounds.session,
      continues: state.rounds.continues,
    }
    await sessions.save(request.session, stored, session.mark)
  }
  const facts = { taskId: null, ...state, durationMs: clock.now() - state.startedAt }
  return { result: taskResult(request, end, facts), lastStep: state.step }
}

/** Runs the rounds; an abort becomes an end too. A run that goes on elsewhere rejects nothing and stores nothing. */
async function endOf(context: RunContext, rounds: () => Promise<RoundsEnd>): Promise<RunEnd> {
  try {
    const ended = await rounds()
    if (ended.kind === 'answered') return { status: 'complete', response: ended.text }
    if (ended.kind === 'completed') return { status: 'complete', response: ended.completion.summary }
    return { status: 'failed', code: ended.code, detail: ended.detail }
  } catch (error) {
    if (!context.signal.aborted) throw error
    return abortedEnd(context.signal)
  }
}

export function abortedEnd(signal: AbortSignal): RunEnd {
  const reason: unknown = signal.reason
  const problem = reason instanceof Problem ? reason : new Problem('cancelled')
  return { status: 'cancelled', code: problem.code, detail: problem.detail }
}

/** A turn that ended badly leaves a conversation that can go on: every call answered, the reason in its place. */
function closeTurn(state: LoopState, end: RunEnd): void {
  if (end.status === 'complete') return
  for (const call of openCalls(state.messages)) {
    state.messages.push({ role: 'tool', toolCallId: call.id, content: sanitizeForPrompt('[not made]') })
  }
  const words = sanitizeForPrompt(`[This turn ended without an answer: ${end.detail}]`)
  state.messages.push({ role: 'assistant', content: words, toolCalls: [] })
}

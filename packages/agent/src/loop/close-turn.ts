import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { TaskCompletion } from '../tools/tool.ts'
import { openCalls } from './loop-state.ts'
import type { LoopState } from './loop-state.ts'
import { provenanceOf } from './run-provenance.ts'
import type { RunBeginning } from './run-provenance.ts'
import type { RunContext } from './run-context.ts'
import { dropUnacknowledged } from './apply-steers.ts'
import type { RunEnd } from './task-result.ts'

/**
 * Stores the conversation at the end of a turn, unless another attempt goes on with it. A turn that ended badly
 * leaves a conversation that can go on: every call answered, the reason in its place.
 */
export async function closeTurn(
  context: RunContext,
  turn: { session: string; mark: number; taskId: string | null; beginning: RunBeginning },
  ended: { state: LoopState; end: RunEnd },
): Promise<void> {
  const { state, end } = ended
  if (context.hooks.isLeftToAnother()) return
  dropUnacknowledged(state)
  for (const call of openCalls(state.messages)) {
    state.messages.push({ role: 'tool', toolCallId: call.id, content: sanitizeForPrompt('[not made]') })
  }
  if (end.status !== 'complete') {
    const words = sanitizeForPrompt(`[This turn ended without an answer: ${end.detail}]`)
    state.messages.push({ role: 'assistant', content: words, toolCalls: [] })
  }
  const { messages, rounds, flushed } = state
  const { trust } = provenanceOf({ ...state, beginning: turn.beginning })
  const { session: sessionRounds, continues } = rounds
  const { taskId } = turn
  const stored = { messages, rounds: sessionRounds, continues, flushed, taskId, trust }
  await context.sessions.save(turn.session, stored, turn.mark)
  await context.recordRun({ session: turn.session, state, end })
}

/** Pure. */
export function abortedEnd(signal: AbortSignal): RunEnd {
  const reason: unknown = signal.reason
  const problem = reason instanceof Problem ? reason : new Problem('cancelled')
  return { status: 'cancelled', code: problem.code, detail: problem.detail }
}

/** What the run says when its agent closed the task. Pure. */
export function completedEnd({ status, summary, result, promote }: TaskCompletion): RunEnd {
  if (status === 'done') return { status: 'complete', response: summary, result, promote }
  if (status === 'blocked') return { status: 'complete', response: summary, result }
  return { status: 'failed', code: 'unprocessable', detail: summary, response: summary, result }
}

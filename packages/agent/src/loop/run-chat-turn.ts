import type { PromptMessage, Speaker } from '../llm/language-model.ts'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { withoutSeenImages } from '../images/bound-images.ts'
import { trustOfOrigin } from '../memory/trust.ts'
import { momentMessage } from '../prompt/moment-message.ts'
import { turnLearnings } from './turn-learnings.ts'
import { callsBefore, closeTurn, endOfLoop, executedRun, loopDepsOf, resumeState } from './turn.ts'
import type { Session } from './sessions.ts'
import { conversationOf } from './conversation-of.ts'
import type { ExecutedRun } from './run-slot.ts'
import type { RunRequest } from './run-request.ts'
import { beginningOf } from './run-provenance.ts'
import { isReplay, recordedHistory, turnRoundsMax } from './recorded-turn.ts'
import { spendingOf } from './loop-deps.ts'
import type { LoopEnd, LoopWork, RunContext, RunRules, RunStores } from './loop-deps.ts'
import { abortedEnd } from './task-result.ts'
import type { RunEnd } from './task-result.ts'

const emptyRetriesMax = 1

/**
 * One turn of a conversation: takes its history and a message, returns the answer, stores the conversation. A
 * turn in the conversation of a task continues that task, for example when work that it handed off has come
 * back. It works within what the earlier turns left of the task's rounds, tokens and money.
 */
export async function runChatTurn(
  given: RunContext,
  request: Extract<RunRequest, { kind: 'chat' }>,
): Promise<ExecutedRun> {
  // A replay repeats a past run: there is nothing new to learn from it, and nothing for the log of the day.
  const context = isReplay(request.session)
    ? { ...given, learnings: undefined, recordRun: async () => undefined }
    : given
  const { clock } = context
  const session = await conversationOf(context, request)
  const recorded = await recordedHistory(request.session, context)
  const before = withoutSeenImages(session.messages.length > 0 ? session.messages : recorded.before)
  const taskId = request.task?.task_id ?? session.taskId
  const beginning = beginningOf(request.origin, session.trust)
  if (trustOfOrigin(request.origin) === 'owner')
    await recordCorrection(context, session.messages, request.message)
  const { inPrompt, news } = await turnLearnings(context, session)
  const state = await resumeState(context, request.runId, {
    messages: [
      ...before,
      ...news,
      momentMessage(clock.now()),
      { role: 'user', content: sanitizeForPrompt(request.message), ...spokenBy(request) },
    ],
    ...usedBefore(request, session),
    flushed: session.flushed,
    calls: callsBefore(session, request.runId),
  })
  const close = async (end: RunEnd): Promise<void> => {
    const turn = {
      session: request.session,
      mark: session.mark,
      taskId,
      beginning,
      learnings: inPrompt,
    }
    await closeTurn(context, turn, { state, end })
  }
  const end = await endOf(context, async () =>
    context.runLoop(
      {
        ...loopDepsOf(context),
        work: {
          systemPrompt: await context.systemPrompt(taskId === null ? 'chat' : 'task', inPrompt),
          ...boundsOf(context, request),
          taskId,
          beginning,
          // In a conversation the mesh reminds of open tasks, because it knows which answers are still to come.
          remindsOfTask: false,
          said: recorded.said,
          emptyRetriesMax,
        },
      },
      state,
      context.signal,
    ),
  ).catch(async (error: unknown) => {
    // The question and the work on it are stored even if the agent fails with an internal error.
    await close({
      status: 'failed',
      code: 'internal-error',
      detail: 'internal error; see the agent log',
    }).catch(() => undefined)
    throw error
  })
  await close(end)
  return executedRun(context, request, { state, end, taskId })
}

type ChatTurn = Extract<RunRequest, { kind: 'chat' }>

/** Returns what earlier turns used: rounds from the conversation, and for a task its tokens and cost. Pure. */
function usedBefore({ task }: ChatTurn, { rounds, continues }: Session) {
  if (!task) return { rounds: { turn: 0, session: rounds, continues } }
  const { tokens_used: tokens, cost_usd: costUsd } = task
  return { rounds: { turn: rounds, session: rounds, continues }, tokens, costUsd }
}

function boundsOf(
  { bounds }: Pick<RunRules, 'bounds'>,
  turn: ChatTurn,
): Pick<LoopWork, 'bounds' | 'spending'> {
  if (turn.task) {
    return {
      bounds: { kind: 'task', iterationsMax: bounds.taskIterationsMax },
      spending: spendingOf(turn.task.token_budget),
    }
  }
  const perTurnMax = turnRoundsMax(turn.session, bounds)
  return {
    bounds: { kind: 'chat', perTurnMax, perSessionMax: bounds.chatRoundsPerSessionMax },
    spending: null,
  }
}

function spokenBy({ origin, runId: run }: ChatTurn): { run: string; by?: Speaker } {
  return origin === undefined ? { run } : { run, by: origin.kind === 'human' ? 'person' : 'other' }
}

/** Records the owner's correction as a lesson. After a crash the same correction is not recorded twice. */
async function recordCorrection(
  { learnings }: Pick<RunStores, 'learnings'>,
  before: readonly PromptMessage[],
  message: string,
): Promise<void> {
  const last = before.findLast((earlier) => earlier.role === 'assistant' && earlier.content !== '')
  await learnings?.recordCorrection({ said: last?.content ?? '', answer: message })
}

/** Runs the rounds; an abort also becomes an end. */
async function endOf({ signal }: { signal: AbortSignal }, rounds: () => Promise<LoopEnd>): Promise<RunEnd> {
  try {
    return endOfLoop(await rounds())
  } catch (error) {
    if (!signal.aborted) throw error
    return abortedEnd(signal)
  }
}

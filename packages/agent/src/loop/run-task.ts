import type { JsonObject } from '@flotilla/protocol/json-value'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { TaskAssignment } from '@flotilla/protocol/task'
import type { LoopState } from './loop-state.ts'
import { turnLearnings } from './turn-learnings.ts'
import { callsBefore, closeTurn, endOfLoop, executedRun, loopDepsOf, resumeState } from './turn.ts'
import type { RunContext } from './loop-deps.ts'
import type { ExecutedRun } from './run-slot.ts'
import type { PromptMessage } from '../llm/language-model.ts'
import { momentMessage, withMoment } from '../prompt/moment-message.ts'
import type { Session } from './sessions.ts'
import { taskSession } from './run-request.ts'
import type { RunRequest } from './run-request.ts'
import { beginningOf } from './run-provenance.ts'
import type { RunBeginning } from './run-provenance.ts'
import { spendingOf } from './loop-deps.ts'
import { createTimeLimit } from './time-limit.ts'
import { abortedEnd } from './task-result.ts'
import type { RunEnd } from './task-result.ts'

const promptJsonMaxChars = 60_000

/**
 * Works on a task until it is closed, or its time, money or rounds are used up. Text closes nothing: an agent that
 * only answers, although reminded, ends its turn with the task open, and the mesh decides what happens. An agent that
 * handed work off, or asked the giver of the task, continues in the conversation that the assignment names.
 */
export async function runTask(
  context: RunContext,
  request: Extract<RunRequest, { kind: 'task' }>,
): Promise<ExecutedRun> {
  const { assignment } = request
  const session = taskSession(assignment)
  const before = await context.sessions.load(session)
  const { mark, trust } = before
  const beginning = beginningOf(assignment.origin, trust)
  const { inPrompt: learnings, news } = await turnLearnings(
    context,
    isContinued(assignment, before) ? before : { ...before, messages: [] },
  )
  const known = { ...before, messages: [...before.messages, ...news] }
  const state = await resumeState(context, request.runId, {
    ...beginningWith(assignment, known, context.clock.now()),
    rounds: { turn: 0, session: 0, continues: 0 },
    calls: callsBefore(before, request.runId),
  })
  const end = await endInTime(context, { assignment, state, beginning, learnings })
  await closeTurn(
    context,
    { session, mark, taskId: assignment.task_id, beginning, learnings },
    { state, end },
  )
  return executedRun(context, request, { state, end, taskId: assignment.task_id })
}

/**
 * The task as text, or the answer to a question about it in the conversation that asked: finished work is not
 * repeated. If that conversation is gone, the task is described again with question and answer. Pure.
 */
function beginningWith(
  assignment: TaskAssignment,
  before: Pick<Session, 'messages' | 'flushed' | 'taskId'>,
  now: number,
): { messages: PromptMessage[]; flushed?: boolean } {
  const { answer, task_id: taskId } = assignment
  if (answer === undefined || !isContinued(assignment, before)) {
    const content = withMoment(describeTask(assignment), now)
    return { messages: [{ role: 'user', content, by: 'other' }] }
  }
  const notice = sanitizeForPrompt(
    `Your question about task ${taskId} was answered by ${answer.by}: ${answer.text}\nContinue the task from where you stopped.`,
  )
  return {
    messages: [...before.messages, momentMessage(now), { role: 'user', content: notice, by: 'other' }],
    flushed: before.flushed,
  }
}

function isContinued(
  { answer, task_id: taskId }: TaskAssignment,
  before: Pick<Session, 'messages' | 'taskId'>,
): boolean {
  return answer !== undefined && before.messages.length > 0 && before.taskId === taskId
}

interface Work {
  readonly assignment: TaskAssignment
  readonly state: LoopState
  readonly beginning: RunBeginning
  readonly learnings: PromptText | undefined
}

async function endInTime(context: RunContext, work: Work): Promise<RunEnd> {
  const { clock } = context
  const { timeout_s: timeoutSeconds } = work.assignment
  const leftMs = work.state.startedAt + timeoutSeconds * 1000 - clock.now()
  const time = createTimeLimit(clock, leftMs, new Error('the task took too long'))
  try {
    return await workUntilEnd(context, work, AbortSignal.any([context.signal, time.signal]))
  } catch (error) {
    if (context.signal.aborted) return abortedEnd(context.signal)
    if (!time.signal.aborted) throw error
    const detail = `The task took longer than its ${timeoutSeconds} seconds.`
    return { status: 'timeout', code: 'expired', detail }
  } finally {
    await time.end()
  }
}

async function workUntilEnd(context: RunContext, work: Work, signal: AbortSignal): Promise<RunEnd> {
  const { assignment, state } = work
  const ended = await context.runLoop(
    {
      ...loopDepsOf(context),
      work: {
        systemPrompt: await context.systemPrompt('task', work.learnings),
        bounds: { kind: 'task', iterationsMax: context.bounds.taskIterationsMax },
        spending: spendingOf(assignment.token_budget),
        taskId: assignment.task_id,
        beginning: work.beginning,
        remindsOfTask: true,
        emptyRetriesMax: 1 + assignment.max_retries,
      },
    },
    state,
    signal,
  )
  return endOfLoop(ended)
}

/** The task as text. Pure. */
export function describeTask(assignment: TaskAssignment): PromptText {
  const { session: _named, ...context } = assignment.context
  const contextText = Object.keys(context).length > 0 ? `\n\nContext:\n${json(context)}` : ''
  return sanitizeForPrompt(
    `Task ${assignment.task_id} (${assignment.task_type})\n\nInput:\n${json(assignment.input_data)}${contextText}`,
  )
}

function json(value: JsonObject): string {
  const text = JSON.stringify(value, null, 1)
  return text.length <= promptJsonMaxChars ? text : `${text.slice(0, promptJsonMaxChars)}\n[cut]`
}

import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { ContextTurn } from '../context/context-turn.ts'
import type { ModelAnswer } from '../llm/language-model.ts'
import { offeredDefinitions, withPromptNotes } from '../tools/withheld-tools.ts'
import { applySteers, reportLostSubagents } from './apply-steers.ts'
import { noticeFor } from './answer-notices.ts'
import { executeToolCalls } from './execute-tool-calls.ts'
import type { LoopDeps, LoopEnd } from './loop-deps.ts'
import { waitsForOthers, openCalls } from './loop-state.ts'
import type { LoopState } from './loop-state.ts'
import { notices } from './notices.ts'
import { usableCalls } from './usable-calls.ts'
import { sayRecorded } from './recorded-turn.ts'
import { countContinuation, countRound, judgeRound } from './round-budget.ts'
import type { RoundVerdict } from './round-budget.ts'
import { provenanceOf } from './run-provenance.ts'

/**
 * The loop: the model answers, its calls are executed, their results are read, until an answer makes no call.
 * It can start anywhere: from a question, or from a checkpoint in the middle of a group of calls.
 *
 * - **L1** Each step is on disk before the next begins: an answer before its calls, a call's intent before
 *   its effect, its result before anything else. Calls without an effect that run together have no intent; if
 *   interrupted, they run again.
 * - **L2** Every call of the model has exactly one result in the conversation, executed or not.
 * - **L3** The loop is bounded: by rounds, by repetition, by money, and by the signal.
 * - **L4** Steers are read before the next round. A steer that arrives during the last answer causes one more
 *   round, if any is left.
 * - **L5** Everything that the loop started ends with it, however it ends.
 */
export async function runLoop(deps: LoopDeps, state: LoopState, signal: AbortSignal): Promise<LoopEnd> {
  deps.subagents?.begin({ deps, state, signal })
  try {
    return await roundByRound(deps, state, signal)
  } finally {
    await deps.subagents?.end()
  }
}

async function roundByRound(deps: LoopDeps, state: LoopState, signal: AbortSignal): Promise<LoopEnd> {
  for (;;) {
    signal.throwIfAborted()
    if (openCalls(state.messages).length > 0) {
      const stopped = await executeToolCalls(deps, state, signal)
      if (stopped) return stopped
    }
    if (state.completion) return { kind: 'completed', completion: state.completion }
    const spent = overspent(deps, state)
    if (spent === null && judgeRound(deps.work.bounds, state.rounds) !== 'exhausted') {
      const problem = await applySteers(deps, state, signal)
      if (problem) return { kind: 'failed', code: problem.code, detail: problem.detail }
      await reportLostSubagents(deps, state)
      await sayRecorded(deps, state)
    }
    const finalText = finalAnswer(deps, state)
    if (finalText !== null) return { kind: 'answered', text: finalText }

    if (spent !== null) return { kind: 'failed', code: 'budget-exhausted', detail: spent }
    const verdict = judgeRound(deps.work.bounds, state.rounds)
    if (verdict === 'exhausted')
      return { kind: 'failed', code: 'rounds-exhausted', detail: notices.roundsUsed }
    if (verdict === 'last' && keepsLast(deps, state)) return endTurn(deps, state)
    if (verdict === 'continue') {
      await deps.context.compact(contextTurn(deps, state, signal))
      state.rounds = countContinuation(state.rounds)
      state.calls = []
      state.messages.push({ role: 'user', content: notices.continuation })
      continue
    }
    const failed = await askModel(deps, { state, verdict }, signal)
    if (failed) return failed
  }
}

/** True if a task waits for handed-off work: its last iteration is kept for closing the task afterwards. */
function keepsLast({ work: { bounds, taskId } }: LoopDeps, state: LoopState): boolean {
  return bounds.kind === 'task' && taskId !== null && waitsForOthers(state)
}

async function endTurn(deps: LoopDeps, state: LoopState): Promise<LoopEnd> {
  state.messages.push({ role: 'assistant', content: notices.waitsForResults, toolCalls: [] })
  await deps.saveCheckpoint(state)
  return { kind: 'answered', text: notices.waitsForResults }
}

/** The text of the latest answer if it has no call and the loop expects nothing more. */
function finalAnswer(deps: LoopDeps, state: LoopState): string | null {
  const last = state.messages.at(-1)
  if (last?.role !== 'assistant') return null
  const mayGoOn = judgeRound(deps.work.bounds, state.rounds) !== 'exhausted'
  const unread = mayGoOn ? (deps.subagents?.takeUnread() ?? null) : null
  const notice = unread ?? (mayGoOn ? noticeFor(deps, state, last.content) : null)
  if (notice === null) return last.content
  state.messages.push({ role: 'user', content: notice })
  return null
}

function overspent(deps: LoopDeps, state: LoopState): string | null {
  const { spending } = deps.work
  if (!spending) return null
  const { maxTokens, maxCostUsd } = spending
  if (maxTokens !== null && state.tokens >= maxTokens) return `The task used its ${maxTokens} tokens.`
  if (maxCostUsd !== null && state.costUsd >= maxCostUsd) return `The task used its ${maxCostUsd} USD.`
  return null
}

function tokensLeft({ work: { spending } }: LoopDeps, state: LoopState): number | null {
  const max = spending?.maxTokens ?? null
  return max === null ? null : Math.max(1, max - state.tokens)
}

async function askModel(
  deps: LoopDeps,
  turn: { state: LoopState; verdict: RoundVerdict },
  signal: AbortSignal,
): Promise<LoopEnd | null> {
  const { state } = turn
  const last = turn.verdict === 'last'
  for (let tries = 0; ; tries += 1) {
    const answer = await answerOf(deps, turn, signal)
    signal.throwIfAborted()
    if (answer instanceof Problem) return { kind: 'failed', code: answer.code, detail: answer.detail }
    state.tokens += answer.tokens
    state.costUsd += answer.costUsd
    const usable = usableCalls(answer, state)
    const calls = last && deps.work.taskId === null ? [] : usable.toolCalls
    if (answer.text.trim() === '' && calls.length === 0) {
      if (last) return { kind: 'failed', code: 'rounds-exhausted', detail: notices.roundsUsed }
      // The same conversation meets the same filter again, and each attempt may be billed.
      if (answer.isFiltered !== true && tries < deps.work.emptyRetriesMax) continue
      return { kind: 'failed', code: 'model-failed', detail: whyEmpty(answer) }
    }
    state.step += 1
    state.rounds = countRound(state.rounds)
    state.messages.push({
      role: 'assistant',
      content: sanitizeForPrompt(answer.text),
      toolCalls: calls,
      // After an answer without calls no provider requires the thoughts back.
      ...(calls.length > 0 && usable.thoughts.length > 0 ? { thoughts: usable.thoughts } : {}),
    })
    deps.watch.onStep(state.step)
    await deps.saveCheckpoint(state)
    return null
  }
}

function whyEmpty({ isFiltered, cutOff }: ModelAnswer): string {
  if (isFiltered === true) return notices.filtered
  return cutOff ? notices.cutBeforeWords : notices.emptyAnswers
}

async function answerOf(
  deps: LoopDeps,
  turn: { state: LoopState; verdict: RoundVerdict },
  signal: AbortSignal,
): Promise<ModelAnswer | Problem> {
  const { state } = turn
  const last = turn.verdict === 'last'
  const inTask = deps.work.taskId !== null
  const offered =
    last && inTask ? deps.tools.filter((tool) => tool.definition.name === 'complete_task') : deps.tools
  const reminders = (deps.reminders?.(state.messages) ?? []).map((content) => ({
    role: 'system' as const,
    content,
  }))
  const notice = last
    ? [{ role: 'system' as const, content: inTask ? notices.lastIteration : notices.lastAnswer }]
    : []
  let streamed = ''
  try {
    return await deps.context.ask(
      { ...contextTurn(deps, state, signal), tools: offeredDefinitions(offered) },
      {
        notices: [...reminders, ...notice],
        mayCallTools: !last || inTask,
        answerTokensMax: tokensLeft(deps, state),
        onText: (content, begins) => {
          streamed = begins ? content : streamed + content
          const mark = begins ? { begins } : {}
          deps.watch.onFrame({ type: 'text_delta', content, answer: state.step + 1, ...mark })
        },
      },
    )
  } catch (error) {
    // If the answer did not arrive completely, the end of the turn contains the text that arrived.
    if (streamed.trim() !== '')
      state.messages.push({ role: 'assistant', content: sanitizeForPrompt(streamed.trim()), toolCalls: [] })
    signal.throwIfAborted()
    return error instanceof Problem ? error : new Problem('model-failed', { cause: error })
  }
}

function contextTurn(deps: LoopDeps, state: LoopState, signal: AbortSignal): ContextTurn {
  return {
    ...deps,
    systemPrompt: withPromptNotes(deps.work.systemPrompt, deps.tools),
    state,
    signal,
    tools: offeredDefinitions(deps.tools),
    provenance: () => provenanceOf({ ...state, beginning: deps.work.beginning }),
    // The first message of a task, and of a sub-agent, is its assignment.
    pinFirst: deps.work.taskId !== null || deps.work.bounds.kind === 'task',
  }
}

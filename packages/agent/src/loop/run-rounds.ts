import type { ChatFrame } from '@flotilla/protocol/agent-api'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { TokenBudget } from '@flotilla/protocol/task'
import type { ImageStore } from '../images/image-store.ts'
import type { Learnings } from '../learnings/learnings.ts'
import type { LanguageModel, ModelAnswer } from '../llm/language-model.ts'
import type { ContextKeeper } from '../context/context-keeper.ts'
import type { ContextTurn } from '../context/context-turn.ts'
import type { Crew } from '../subagents/crew.ts'
import { offeredDefinitions } from '../tools/held-tools.ts'
import type { TaskCompletion, Tool } from '../tools/tool.ts'
import { notices } from './notices.ts'
import { hasHandedOff, openCalls } from './loop-state.ts'
import type { LoopState } from './loop-state.ts'
import { countContinuation, countRound, judgeRound } from './round-budget.ts'
import type { RoundLimits, RoundVerdict } from './round-budget.ts'
import { beginningOf, provenanceOf } from './run-provenance.ts'
import type { RunBeginning } from './run-provenance.ts'
import { runCalls } from './run-calls.ts'
import { takeSteers } from './take-steers.ts'
import type { TakeSteersDeps } from './take-steers.ts'

/** How the rounds ended. Aborting is no end: then they reject with the signal's reason. */
export type RoundsEnd =
  | { readonly kind: 'answered'; readonly text: string }
  | { readonly kind: 'completed'; readonly completion: TaskCompletion }
  | { readonly kind: 'failed'; readonly code: string; readonly detail: string }

export interface RoundsDeps extends TakeSteersDeps {
  readonly model: LanguageModel
  /** Keeps the conversation within the model's window. */
  readonly context: ContextKeeper
  readonly tools: readonly Tool[]
  readonly systemPrompt: PromptText
  readonly bounds: RoundLimits
  /** What the run may spend in all, its earlier turns included, or null. */
  readonly spending: { readonly maxTokens: number | null; readonly maxCostUsd: number | null } | null
  readonly taskId: string | null
  /** Without it nothing in the conversation is trusted. */
  readonly beginning?: RunBeginning
  readonly learnings?: Learnings | undefined
  /** Where the pictures of results are; without it they are told of in words. */
  readonly images?: ImageStore | undefined
  /** Whether an agent that ends its turn with the task open is reminded, once. */
  readonly remindsOfTask: boolean
  /** How often an empty answer is asked for again. */
  readonly emptyRetriesMax: number
  /** Those that the agent may begin to work for it; without it there are none. */
  readonly crew?: Crew | undefined
  readonly clock: Clock
  readonly onFrame: (frame: ChatFrame) => void
  readonly onStep: (step: number) => void
}

/**
 * THE loop: the model answers, its calls are made, their results are read, until an answer makes no call. It
 * starts anywhere: from a question, or from a checkpoint in the middle of a group of calls.
 *
 * - **L1** Each step is on disk before the next begins: an answer before its calls, a call's intent before its
 *   effect, its result before anything else. Calls without an effect that are made together have no intent; cut off,
 *   they are made again.
 * - **L2** Every call of the model has exactly one result in the conversation, made or not.
 * - **L3** The loop is bounded: by rounds, by repetition, by money, and by the signal.
 * - **L4** What is said to the run meanwhile is read before the next round; said while the last answer is written, it
 *   makes one round more, while there are any.
 * - **L5** What the loop began ends with it, however it ends.
 */
export async function runRounds(deps: RoundsDeps, state: LoopState, signal: AbortSignal): Promise<RoundsEnd> {
  deps.crew?.begin({ deps, state, signal })
  try {
    return await roundByRound(deps, state, signal)
  } finally {
    await deps.crew?.end()
  }
}

async function roundByRound(deps: RoundsDeps, state: LoopState, signal: AbortSignal): Promise<RoundsEnd> {
  for (;;) {
    signal.throwIfAborted()
    if (openCalls(state.messages).length > 0) {
      const stopped = await runCalls(deps, state, signal)
      if (stopped) return stopped
    }
    if (state.completion) return { kind: 'completed', completion: state.completion }
    const spent = overspent(deps, state)
    if (spent === null && judgeRound(deps.bounds, state.rounds) !== 'exhausted') {
      const problem = await takeSteers(deps, state, signal)
      if (problem) return { kind: 'failed', code: problem.code, detail: problem.detail }
      await sayLost(deps, state)
    }
    const finalText = finalAnswer(deps, state)
    if (finalText !== null) return { kind: 'answered', text: finalText }

    if (spent !== null) return { kind: 'failed', code: 'budget-exhausted', detail: spent }
    const verdict = judgeRound(deps.bounds, state.rounds)
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

/** The last iteration of a task is for its end, and that has to wait for what was given away. */
function keepsLast({ bounds, taskId }: RoundsDeps, state: LoopState): boolean {
  return bounds.kind === 'task' && taskId !== null && hasHandedOff(state)
}

async function endTurn(deps: RoundsDeps, state: LoopState): Promise<RoundsEnd> {
  state.messages.push({ role: 'assistant', content: notices.waitsForResults, toolCalls: [] })
  await deps.saveCheckpoint(state)
  return { kind: 'answered', text: notices.waitsForResults }
}

/** Like what is said to the run, it stands in the conversation before the next round and is on disk first. */
async function sayLost(deps: RoundsDeps, state: LoopState): Promise<void> {
  const lost = deps.crew?.takeLost() ?? null
  if (lost === null) return
  state.messages.push({ role: 'user', content: lost })
  await deps.saveCheckpoint(state)
}

/** The text of the latest answer when the model made no call in it and nothing more is expected of it. */
function finalAnswer(deps: RoundsDeps, state: LoopState): string | null {
  const last = state.messages.at(-1)
  if (last?.role !== 'assistant') return null
  const mayGoOn = judgeRound(deps.bounds, state.rounds) !== 'exhausted'
  const unread = mayGoOn ? (deps.crew?.takeUnread() ?? null) : null
  if (unread !== null) {
    state.messages.push({ role: 'user', content: unread })
    return null
  }
  if (deps.remindsOfTask && !state.nudged && mayGoOn && !hasHandedOff(state)) {
    state.nudged = true
    state.messages.push({ role: 'user', content: notices.closeTheTask })
    return null
  }
  return last.content
}

/** Pure. */
export function spendingOf(budget: TokenBudget | null): RoundsDeps['spending'] {
  return budget && { maxTokens: budget.max_tokens, maxCostUsd: budget.max_cost_usd }
}

function overspent(deps: RoundsDeps, state: LoopState): string | null {
  const { spending } = deps
  if (!spending) return null
  const { maxTokens, maxCostUsd } = spending
  if (maxTokens !== null && state.tokens >= maxTokens) return `The task used its ${maxTokens} tokens.`
  if (maxCostUsd !== null && state.costUsd >= maxCostUsd) return `The task used its ${maxCostUsd} USD.`
  return null
}

function tokensLeft({ spending }: RoundsDeps, state: LoopState): number | null {
  const max = spending?.maxTokens ?? null
  return max === null ? null : Math.max(1, max - state.tokens)
}

async function askModel(
  deps: RoundsDeps,
  turn: { state: LoopState; verdict: RoundVerdict },
  signal: AbortSignal,
): Promise<RoundsEnd | null> {
  const { state } = turn
  const last = turn.verdict === 'last'
  for (let tries = 0; ; tries += 1) {
    const answer = await answerOf(deps, turn, signal)
    signal.throwIfAborted()
    if (answer instanceof Problem) return { kind: 'failed', code: answer.code, detail: answer.detail }
    state.tokens += answer.tokens
    state.costUsd += answer.costUsd
    const calls = last && deps.taskId === null ? [] : usableCalls(answer, state.step + 1)
    if (answer.text.trim() === '' && calls.length === 0) {
      if (last) return { kind: 'failed', code: 'rounds-exhausted', detail: notices.roundsUsed }
      if (tries < deps.emptyRetriesMax) continue
      return {
        kind: 'failed',
        code: 'model-failed',
        detail: 'The model answered with nothing, again and again.',
      }
    }
    state.step += 1
    state.rounds = countRound(state.rounds)
    state.messages.push({ role: 'assistant', content: sanitizeForPrompt(answer.text), toolCalls: calls })
    deps.onStep(state.step)
    await deps.saveCheckpoint(state)
    return null
  }
}

async function answerOf(
  deps: RoundsDeps,
  turn: { state: LoopState; verdict: RoundVerdict },
  signal: AbortSignal,
): Promise<ModelAnswer | Problem> {
  const { state } = turn
  const last = turn.verdict === 'last'
  const inTask = deps.taskId !== null
  const offered =
    last && inTask ? deps.tools.filter((tool) => tool.definition.name === 'complete_task') : deps.tools
  const notice = last
    ? [{ role: 'system' as const, content: inTask ? notices.lastIteration : notices.lastAnswer }]
    : []
  try {
    return await deps.context.ask(
      { ...contextTurn(deps, state, signal), tools: offeredDefinitions(offered) },
      {
        notices: notice,
        mayCallTools: !last || inTask,
        answerTokensMax: tokensLeft(deps, state),
        onText: (content) => deps.onFrame({ type: 'text_delta', content }),
      },
    )
  } catch (error) {
    signal.throwIfAborted()
    return error instanceof Problem ? error : new Problem('model-failed', { cause: error })
  }
}

function contextTurn(deps: RoundsDeps, state: LoopState, signal: AbortSignal): ContextTurn {
  return {
    ...deps,
    state,
    signal,
    tools: offeredDefinitions(deps.tools),
    provenance: () => provenanceOf({ ...state, beginning: deps.beginning ?? beginningOf(undefined, null) }),
    // The first words of a task, and of a sub-agent, are what it is to do.
    pinFirst: deps.taskId !== null || deps.bounds.kind === 'task',
  }
}

/**
 * Calls as they are remembered: ids are made unlike each other, and a call that was cut off before its first
 * argument is marked as broken, so that it does not pass for a call without arguments.
 */
function usableCalls(answer: ModelAnswer, step: number): ModelAnswer['toolCalls'] {
  const seen = new Set<string>()
  return answer.toolCalls.map((call, index) => {
    const id = call.id === '' || seen.has(call.id) ? `call_${step}_${index}` : call.id
    seen.add(id)
    const cutAtStart = answer.cutOff && index === answer.toolCalls.length - 1 && call.arguments.trim() === ''
    return { ...call, id, arguments: cutAtStart ? '{' : call.arguments }
  })
}

import { saysTooLong } from '@flotilla/protocol/context-overflow'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { ModelAnswer, OnText, PromptMessage } from '../llm/language-model.ts'
import { askRepaired } from './ask-repaired.ts'
import { clearableResults, savedByClearing, withoutResults } from './clear-results.ts'
import { learnFromOverflow, learnFromUsage } from './calibration.ts'
import { compactConversation, flushFacts, keepWords, planCut } from './compact-conversation.ts'
import type { ContextKeep, ContextTurn } from './context-turn.ts'
import { fullnessNote } from './context-prompts.ts'
import { contextShares, decideContext } from './decide-context.ts'
import { foundInRequest } from '../tools/found-in-request.ts'
import { estimateMessage, imagesIn } from './estimate-tokens.ts'
import { measureContext } from './measure-context.ts'
import type { ContextSize, MeasureDeps } from './measure-context.ts'
import { shortenMessages } from './shorten-messages.ts'

/** How often one request may be rejected for its length; each rejection makes the conversation smaller. */
const overflowsMax = 4
/** Maximum number of steps: a flush, a clearing, a compaction and a prune. More would mean that one had no effect. */
const stepsMax = 5
/** Clearing results changes the prompt, so that a provider's cache is lost: it must save this share of the window. */
const clearMinShare = 0.15
const pruneToShare = 0.6
/** If the prompt leaves fewer tokens than this, the answer's length is limited to the rest of the window. */
const answerRoomTokens = 16_384
const answerMinTokens = 256

export interface AskRequest {
  /** Messages that are sent after the conversation, but are not stored in it. */
  readonly notices: readonly PromptMessage[]
  readonly mayCallTools: boolean
  readonly answerTokensMax: number | null
  readonly onText: OnText
}

/**
 * Keeps a conversation within its model's window. Invariants:
 *
 * - **X1** A request is sent only when it fits by all that is known, and a rejection adds to what is known.
 * - **X2** Only whole groups leave the conversation, through `cutGroups`; a shortened message says so.
 * - **X3** What leaves is on disk before it is removed, and a note to the model says where.
 * - **X4** Every step makes the conversation smaller; if none can, the Problem is `context-exhausted`.
 */
export interface ContextKeeper {
  /**
   * Returns one answer of the model to the conversation, which is repaired if its provider rejects it.
   * Rejects as the model does, with `context-exhausted`, or aborted.
   */
  ask(turn: ContextTurn, request: AskRequest): Promise<ModelAnswer>
  /** Compacts now, if a compaction would save enough tokens. */
  compact(turn: ContextTurn): Promise<void>
}

export function createContextKeeper(deps: MeasureDeps & ContextKeep): ContextKeeper {
  const measure = (turn: ContextTurn): Promise<ContextSize> =>
    measureContext(deps, { ...turn, messages: turn.state.messages }, turn.signal)

  /** Returns false when no message could be shortened. */
  const prune = async (turn: ContextTurn, size: ContextSize): Promise<boolean> => {
    const { state } = turn
    const ratio = size.tokens / Math.max(1, size.counted)
    const conversation = Math.max(1, size.counted - size.frameCounted)
    const room = (size.windowTokens * pruneToShare) / ratio - size.frameCounted
    const rule = {
      room: (room * size.rough) / conversation,
      sizeOf: estimateMessage,
      keptIn: 'workspace/memory/transcripts',
    }
    const { messages, before } = shortenMessages(state.messages, rule)
    if (before.length === 0) return false
    await keepWords(deps, turn, {
      messages: before,
      what: 'shortened',
      words: sanitizeForPrompt('Long messages were shortened in the middle.'),
    })
    state.messages = [...messages]
    await turn.saveCheckpoint(state)
    deps.log.warn(
      { runId: state.runId, shortened: before.length },
      'shortened long messages to fit the context window; the full text is in a transcript',
    )
    return true
  }
  /** Returns false when the whole results could not be written to disk. */
  const clear = async (
    turn: ContextTurn,
    { results, size }: { results: ReturnType<typeof clearableResults>; size: ContextSize },
  ): Promise<boolean> => {
    const { state } = turn
    // Facts are read from whole results.
    await flushFacts(deps, turn, { messages: state.messages, size })
    const reason = sanitizeForPrompt('Old tool results were cut.')
    const keptIn = await keepWords(deps, turn, { messages: results, what: 'shortened', words: reason })
    if (keptIn === null) return false
    state.messages = withoutResults(state.messages, results, keptIn)
    await turn.saveCheckpoint(state)
    deps.log.info(
      { runId: state.runId, results: results.length },
      'cut old tool results of a conversation; the full text is in a transcript',
    )
    return true
  }
  /** Makes the conversation fit. `belowCounted` is the size of a rejected request, which it must stay below. */
  const fit = async (turn: ContextTurn, belowCounted: number): Promise<ContextSize> => {
    const { state } = turn
    let mayClear = true
    for (let steps = 0; ; steps += 1) {
      const size = await measure(turn)
      const results = clearableResults(state.messages)
      const canClear = mayClear && isWorthClearing(size, savedByClearing(results))
      const cut = planCut(state.messages, { size, pinFirst: turn.pinFirst })
      const contextFacts = { ...size, flushed: state.flushed, canClear, canCut: cut.worthIt }
      const isSmaller = size.counted < belowCounted
      const step = decideContext(contextFacts)
      const isNeeded = step === 'none' && !isSmaller ? 'prune' : step
      if (isNeeded === 'none') return size
      if (steps >= stepsMax) return lastResort(size, belowCounted)
      if (isNeeded === 'flush') await flushFacts(deps, turn, { messages: state.messages, size })
      else if (isNeeded === 'clear') mayClear = await clear(turn, { results, size })
      else if (isNeeded === 'compact') await compactConversation(deps, turn, { cut, size })
      else if (!(await prune(turn, size))) return lastResort(size, belowCounted)
    }
  }
  /** Deletes a learned window that is too small, because the model has accepted a longer prompt. */
  const unlearn = async (answer: ModelAnswer, size: ContextSize): Promise<void> => {
    if (!isOfModel(answer, deps.model)) return
    const { learnedWindow } = await deps.modelFacts.of(deps.model)
    const taken = answer.promptTokens > 0 ? answer.promptTokens : size.counted
    if (learnedWindow !== null && taken > learnedWindow.tokens)
      await deps.modelFacts.learnWindow(deps.model, null)
  }
  const ask = async (turn: ContextTurn, request: AskRequest, size: ContextSize) => {
    const share = size.tokens / size.windowTokens
    const found = foundInRequest(turn.state.messages, turn.tools)
    const full = share >= contextShares.warn ? [fullnessNote(Math.round(share * 100))] : []
    return turn.model.answer(
      {
        messages: [
          { role: 'system', content: turn.systemPrompt },
          ...turn.state.messages,
          ...full,
          ...request.notices,
        ],
        tools: turn.tools,
        ...(found === null ? {} : { found }),
        mayCallTools: request.mayCallTools,
        answerTokensMax: answerBound(request.answerTokensMax, size),
      },
      request.onText,
      turn.signal,
    )
  }
  const askWithin = async (turn: ContextTurn, request: AskRequest): Promise<ModelAnswer> => {
    let belowCounted = Infinity
    for (let overflows = 0; ; overflows += 1) {
      const size = await fit(turn, belowCounted)
      const { calibration } = await deps.modelFacts.of(size.countedAs)
      try {
        const answer = await ask(turn, request, size)
        await unlearn(answer, size)
        // What a model counts for a picture, 100 to 40,000 tokens, says nothing about its count of text.
        if (isOfModel(answer, deps.model) && !turn.state.messages.some(imagesIn)) {
          const usage = { counted: size.counted, told: answer.promptTokens }
          await deps.modelFacts.learn(size.countedAs, learnFromUsage(calibration, usage))
        }
        return answer
      } catch (error) {
        turn.signal.throwIfAborted()
        if (!isOverflow(error) || overflows >= overflowsMax) throw error
        const { message } = error
        deps.log.warn(
          { runId: turn.state.runId, tokens: Math.round(size.tokens), words: message },
          'the model rejected a prompt as too long; shortening it and sending it again',
        )
        belowCounted = size.counted
        if (isOfStandIn(error, deps.model)) continue
        const { learnedWindow } = await deps.modelFacts.of(deps.model)
        const lesson = learnFromOverflow(calibration, { ...size, learnedWindow, words: message })
        await deps.modelFacts.learn(size.countedAs, lesson.calibration)
        await deps.modelFacts.learnWindow(deps.model, lesson.learnedWindow)
        // The stated window may have room for the same messages and a shorter answer.
        const after = await measure(turn)
        if (after.windowTokens < size.windowTokens && after.tokens < after.windowTokens)
          belowCounted = Infinity
      }
    }
  }
  return {
    ask: (turn, request) => askRepaired(deps, turn, () => askWithin(turn, request)),
    compact: async (turn) => {
      const size = await measure(turn)
      const cut = planCut(turn.state.messages, { size, pinFirst: turn.pinFirst })
      if (cut.worthIt) await compactConversation(deps, turn, { cut, size })
    },
  }
}

function isWorthClearing(size: ContextSize, savedRough: number): boolean {
  const { tokens, counted, frameCounted, rough, windowTokens } = size
  // A tokenizer may count a multiple of the rough count, for example for numbers.
  const savedCounted = savedRough * (Math.max(1, counted - frameCounted) / Math.max(1, rough))
  return (savedCounted * tokens) / Math.max(1, counted) >= windowTokens * clearMinShare
}

/** True if the requested model answered: a fallback model counts tokens in its own way. */
function isOfModel(answer: ModelAnswer, model: string): boolean {
  return answer.answeredBy === null || answer.answeredBy === model || answer.answeredBy.endsWith(`/${model}`)
}

/** True if a fallback model rejected the prompt, according to the mesh: that model has a window of its own. */
function isOfStandIn({ extra }: Problem, model: string): boolean {
  const by = extra['refused_by']
  return typeof by === 'string' && by !== model && !by.endsWith(`/${model}`)
}

/**
 * Returns the size of a conversation that cannot be made smaller, so that it is sent although it seems too long: the
 * rejection that says so may be outdated. Throws if it was rejected just now, or is surely too long.
 */
function lastResort(size: ContextSize, belowCounted: number): ContextSize {
  if (belowCounted !== Infinity || size.isSurelyTooLong) throw exhausted(size)
  return size
}

function answerBound(requested: number | null, size: ContextSize): number | null {
  const window = size.tokens < size.windowTokens ? size.windowTokens : size.statedWindowTokens
  const left = Math.floor(window - size.tokens * 1.02)
  if (left >= answerRoomTokens) return requested
  return Math.max(1, Math.min(requested ?? Infinity, Math.max(answerMinTokens, left)))
}

function exhausted(size: ContextSize): Problem {
  return new Problem('context-exhausted', {
    detail: `The context window of the model has ${size.windowTokens} tokens; instructions and tools take about ${size.frameCounted} of them, and the conversation cannot be shortened further.`,
  })
}

/** Codes that mesh and providers use for a prompt that is too long. */
const overflowCodes: readonly string[] = ['prompt-too-long', 'context_length_exceeded']

/** Codes of other errors: with these a prompt is not too long, whatever the error's message says. */
const otherCodes: readonly string[] = ['rate-limited', 'budget-exhausted', 'denied', 'context-exhausted']

/** Pure. Whether a model rejected the prompt because it is too long. */
function isOverflow(error: unknown): error is Problem {
  if (!(error instanceof Problem)) return false
  if (overflowCodes.includes(error.code) || error.extra['type'] === 'context_length_exceeded') return true
  return !otherCodes.includes(error.code) && saysTooLong(error.detail)
}

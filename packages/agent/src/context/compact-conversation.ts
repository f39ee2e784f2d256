import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptMessage } from '../llm/language-model.ts'
import { fingerprint } from '../loop/fingerprint.ts'
import { askForFacts, askForSummary, outline } from './ask-aside.ts'
import type { ContextKeep, ContextTurn } from './context-turn.ts'
import { isSummary, summaryMessage } from './context-prompts.ts'
import { cutGroups } from './cut-groups.ts'
import type { CutConversation } from './cut-groups.ts'
import { estimateMessage } from './estimate-tokens.ts'
import type { ContextSize } from './measure-context.ts'
import { renderTranscript } from './render-transcript.ts'
import { isKeptDefinitions, keptDefinitions } from '../tools/found-tools.ts'
import { readUnanswered } from '@flotilla/protocol/chat-history'

/** Share of the window that is in use after a compaction. */
const afterShare = 0.45
/** A cut that saves fewer tokens than this, by the rough count, is not worth a model call. */
const worthCuttingTokens = 400
/** Share of the window that the transcript to condense may fill, and its limit in characters. */
const transcriptShare = 0.5
const transcriptMaxChars = 60_000
const charsPerToken = 3
const excerptMaxChars = 1500

/** Returns what a compaction would remove now. Pure. */
export function planCut(
  messages: readonly PromptMessage[],
  rule: { readonly size: ContextSize; readonly pinFirst: boolean },
): CutConversation & { readonly worthIt: boolean } {
  const { size } = rule
  const conversation = Math.max(1, size.counted - size.frameCounted)
  const ratio = size.tokens / Math.max(1, size.counted)
  const room = (size.windowTokens * afterShare) / ratio - size.frameCounted
  const cut = cutGroups(messages, {
    room: (room * size.rough) / conversation,
    sizeOf: estimateMessage,
    pinFirst: rule.pinFirst,
    isSummary: isOfCompaction,
  })
  const dropped = cut.dropped.filter((message) => !isOfCompaction(message))
  return { ...cut, worthIt: sizeOf(dropped) >= worthCuttingTokens }
}

/**
 * Replaces the cut messages by a summary. The messages go to disk first. The model's summary comes back as untrusted
 * text, and the conversation changes in the same write as the checkpoint: a run killed before that write compacts
 * again. If the model gives no summary, an outline replaces the messages.
 */
export async function compactConversation(
  keep: ContextKeep,
  turn: ContextTurn,
  rule: { readonly cut: CutConversation; readonly size: ContextSize },
): Promise<void> {
  const { state } = turn
  const { kept, dropped } = rule.cut
  await flushFacts(keep, turn, { messages: dropped, size: rule.size })
  const summary = await summarize(keep, turn, { messages: dropped, size: rule.size })
  const keptIn = await keepWords(keep, turn, { messages: dropped, what: 'compacted', words: summary })
  const message = fitSummary(summary, keptIn, sizeOf(dropped))
  const added = [message, ...definitionsWithin(rule.cut, sizeOf(dropped) - estimateMessage(message))]
  const [first, ...others] = kept
  state.messages =
    turn.pinFirst && first !== undefined && first === state.messages[0]
      ? [first, ...added, ...others]
      : [...added, ...kept]
  state.flushed = false
  await turn.saveCheckpoint(state)
  keep.log.info(
    { runId: state.runId, dropped: dropped.length, kept: kept.length },
    'a conversation was compacted; what left it is in a transcript',
  )
}

function isOfCompaction(message: PromptMessage): boolean {
  return isSummary(message) || isKeptDefinitions(message)
}

/** Returns a message with the tool definitions among the cut messages, if it leaves the conversation smaller. */
function definitionsWithin({ dropped, kept }: CutConversation, roomTokens: number): readonly PromptMessage[] {
  const message = keptDefinitions(dropped, kept)
  return message !== null && estimateMessage(message) < roomTokens ? [message] : []
}

/** Extracts facts and saves them in memory, once for each segment of a conversation. Never fails the run. */
export async function flushFacts(
  keep: ContextKeep,
  turn: ContextTurn,
  rule: { readonly messages: readonly PromptMessage[]; readonly size: ContextSize },
): Promise<void> {
  const { state } = turn
  if (state.flushed) return
  try {
    const ask = { messages: rule.messages, transcriptMaxChars: shownChars(rule.size) }
    const { facts, tokens, costUsd } = await askForFacts(turn.model, ask, turn.signal)
    state.tokens += tokens
    state.costUsd += costUsd
    if (facts === null)
      keep.log.warn(
        { runId: state.runId },
        'failed to read facts from the model’s answer; this part of the conversation adds nothing to memory',
      )
    else if (facts.length > 0) {
      const runOk = somethingWorked(state.messages, state.toolOutputs)
      const run = { runId: state.runId, runOk, provenance: turn.provenance(), mesh: turn.mesh }
      const { saved } = await keep.factKeeper.saveFacts(facts, run)
      keep.log.info(
        { runId: state.runId, saved, named: facts.length },
        'facts of a conversation were saved in memory',
      )
    }
  } catch (error) {
    turn.signal.throwIfAborted()
    keep.log.warn(
      { runId: state.runId, err: error },
      'failed to save facts of a conversation in memory; the run continues without them',
    )
  }
  state.flushed = true
  await turn.saveCheckpoint(state)
}

async function summarize(
  keep: ContextKeep,
  turn: ContextTurn,
  rule: { readonly messages: readonly PromptMessage[]; readonly size: ContextSize },
): Promise<PromptText> {
  const { state } = turn
  try {
    const ask = { messages: rule.messages, transcriptMaxChars: shownChars(rule.size) }
    const { text, tokens, costUsd } = await askForSummary(turn.model, ask, turn.signal)
    state.tokens += tokens
    state.costUsd += costUsd
    if (text.trim() !== '') return text
    keep.log.warn({ runId: state.runId }, 'received an empty summary; using an outline instead')
  } catch (error) {
    turn.signal.throwIfAborted()
    keep.log.warn({ runId: state.runId, err: error }, 'failed to request a summary; using an outline instead')
  }
  return outline(rule.messages)
}

/**
 * Saves messages that leave a conversation to disk and to the day's log. Returns the path; null when the disk
 * refused.
 */
export async function keepWords(
  keep: ContextKeep,
  turn: ContextTurn,
  rule: { readonly messages: readonly PromptMessage[]; readonly what: string; readonly words: PromptText },
): Promise<string | null> {
  const { runId } = turn.state
  const text = renderTranscript(rule.messages)
  const mark = `${runId}-${fingerprint(text).slice(0, 12)}`
  try {
    const place = await keep.dailyLog.keepTranscript(mark, text)
    const what = sanitizeForPrompt(
      `Conversation ${rule.what}: ${rule.messages.length} messages are now in ${place}.`,
    )
    const excerpt = truncatePromptText(rule.words, excerptMaxChars)
    await keep.dailyLog.append({ mark, text: joinPromptText([what, excerpt], ' ') })
    return place
  } catch (error) {
    keep.log.error(
      { runId, err: error },
      'failed to write removed messages to a transcript; their full text is lost',
    )
    return null
  }
}

/** Returns the summary as a message, cut so that it is shorter than the messages that it replaces. */
function fitSummary(summary: PromptText, keptIn: string | null, droppedTokens: number): PromptMessage {
  let text = summary
  let message = summaryMessage(text, keptIn)
  while (estimateMessage(message) >= droppedTokens && text.length > 0) {
    text = truncatePromptText(text, Math.floor(text.length / 2), '')
    message = summaryMessage(text, keptIn)
  }
  return message
}

function shownChars(size: ContextSize): number {
  return Math.floor(Math.min(transcriptMaxChars, size.windowTokens * transcriptShare * charsPerToken))
}

function sizeOf(messages: readonly PromptMessage[]): number {
  return messages.reduce((sum, message) => sum + estimateMessage(message), 0)
}

/** True if the model answered in text or a call succeeded; else the conversation contains no facts. */
function somethingWorked(
  messages: readonly PromptMessage[],
  made: readonly { readonly ok: boolean }[],
): boolean {
  const answered = messages.some(
    (message) =>
      message.role === 'assistant' && message.toolCalls.length === 0 && !isFailure(message.content),
  )
  return answered || made.some(({ ok }) => ok)
}

function isFailure(text: string): boolean {
  return readUnanswered(text) !== null
}

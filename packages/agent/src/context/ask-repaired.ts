import { Problem, withChanges } from '@flotilla/protocol/problem'
import { readUnanswered } from '@flotilla/protocol/chat-history'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { ModelAnswer, PromptMessage } from '../llm/language-model.ts'
import { keepWords } from './compact-conversation.ts'
import type { ContextKeep, ContextTurn } from './context-turn.ts'
import { rewriteHistory, turnStart } from './rewrite-history.ts'
import type { RefusedPart } from './rewrite-history.ts'
import { madeCall } from '../tools/made-call.ts'

/** A changed conversation that may be accepted where the previous one was rejected. */
interface Repair {
  readonly what: 'rewritten' | 'set aside'
  readonly messages: readonly PromptMessage[]
  /** The messages that are removed or rewritten. */
  readonly before: readonly PromptMessage[]
}

/**
 * Gets one answer to a conversation. If the provider rejects its history, the history is rewritten once and sent
 * again, and then only the messages of this turn are sent. The first variant that is answered replaces the
 * conversation, with a note in it and the old messages in a transcript. If no variant is answered, the conversation
 * stays unchanged; the Problem `history-refused` says what a person can do.
 */
export async function askRepaired(
  keep: ContextKeep,
  turn: ContextTurn,
  ask: () => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  const { state } = turn
  try {
    return await ask()
  } catch (refusal) {
    turn.signal.throwIfAborted()
    const original = state.messages
    if (!isRefusal(refusal, original)) throw refusal
    const repairs = repairsOf(original, refusal, turn.pinFirst)
    for (const repair of repairs) {
      keep.log.warn(
        { runId: state.runId, repair: repair.what, words: refusal.detail },
        'the model provider rejected the conversation; repairing it and sending it again',
      )
      state.messages = [...repair.messages]
      let answer: ModelAnswer
      try {
        answer = await ask()
      } catch (error) {
        state.messages = original
        turn.signal.throwIfAborted()
        if (!isRefusal(error, original)) throw error
        continue
      }
      await commit(keep, turn, repair)
      return answer
    }
    throw refusal.code === 'history-refused' ? explained(refusal, repairs.length > 0) : refusal
  }
}

/**
 * True if the provider rejects the conversation. A rejection with an unknown reason counts if the turn before ended
 * without an answer too.
 */
function isRefusal(error: unknown, messages: readonly PromptMessage[]): error is Problem {
  if (!(error instanceof Problem)) return false
  if (error.code === 'history-refused') return true
  const before = messages[turnStart(messages) - 1]
  return (
    error.code === 'model-call-rejected' && before !== undefined && readUnanswered(before.content) !== null
  )
}

const parts: readonly string[] = ['tools', 'thinking', 'images', 'text', 'empty', 'order', 'content']

function partOf({ extra }: Problem): RefusedPart | null {
  const part = extra['part']
  return typeof part === 'string' && parts.includes(part) ? (part as RefusedPart) : null
}

function repairsOf(
  messages: readonly PromptMessage[],
  refusal: Problem,
  pinFirst: boolean,
): readonly Repair[] {
  const start = turnStart(messages)
  const rewritten = rewriteHistory(messages, partOf(refusal))
  const pinned = pinFirst ? messages.slice(0, 1) : []
  const earlier = messages.slice(pinned.length, start)
  const alone = [...pinned, ...messages.slice(Math.max(start, pinned.length))]
  return [
    ...(rewritten === null ? [] : [{ what: 'rewritten', messages: rewritten, before: messages } as const]),
    ...(earlier.length === 0 ? [] : [{ what: 'set aside', messages: alone, before: earlier } as const]),
  ]
}

/**
 * Stores the repaired conversation, with a note where the turn begins; a compaction may have moved that place. Never
 * throws: the answer is paid for, and the loop stores the conversation again with the answer.
 */
async function commit(keep: ContextKeep, turn: ContextTurn, { what, before }: Repair): Promise<void> {
  const { state, pinFirst } = turn
  const reason = sanitizeForPrompt('The model provider had rejected this conversation.')
  const place = await keepWords(keep, turn, { messages: before, what, words: reason })
  const where = place === null ? '' : `; the original messages are in ${place}`
  const text =
    what === 'rewritten'
      ? `[The model provider rejected this conversation as it was written. The rejected parts are now plain text${where}.]`
      : `[The model provider rejected the earlier messages, so this conversation starts here${where}.]`
  const note = { role: 'user', content: sanitizeForPrompt(text), by: 'other' } as const
  state.messages.splice(Math.max(turnStart(state.messages), pinFirst ? 1 : 0), 0, note)
  try {
    await turn.saveCheckpoint(state)
  } catch (error) {
    keep.log.error(
      { runId: state.runId, err: error },
      'failed to save a repaired conversation; it is saved again together with the answer',
    )
  }
}

/**
 * The rejection as a Problem for people. The messages of the rejected turn leave the conversation (`withoutTurn`), so
 * that the next message is not rejected because of them.
 */
function explained(refusal: Problem, wasRepaired: boolean): Problem {
  return withChanges(refusal, {
    detail: `The model provider rejects this conversation${wasRepaired ? ' even after a repair' : ''}, so your last message was removed from it. Rephrase it, or start a new conversation with /reset. ${refusal.detail}`,
  })
}

/** Returns the conversation without the messages of its last turn, and with a note of what was done in it. Pure. */
export function withoutTurn(messages: readonly PromptMessage[], run?: string): PromptMessage[] {
  const start = turnStart(messages)
  const calls = messages
    .slice(start)
    .flatMap((message) =>
      message.role === 'assistant' ? message.toolCalls.map((call) => madeCall(call).name) : [],
    )
  const done = calls.length === 0 ? '' : ` Tools that were called for it: ${[...new Set(calls)].join(', ')}.`
  const text = `[A message was removed from this conversation because the model provider rejected it.${done}]`
  const content = sanitizeForPrompt(text)
  return [
    ...messages.slice(0, start),
    { role: 'user', content, by: 'other', ...(run === undefined ? {} : { run }) },
  ]
}

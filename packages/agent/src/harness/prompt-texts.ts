import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { renderTranscript } from '../context/render-transcript.ts'
import type { PromptMessage } from '../llm/language-model.ts'
import type { LoopState } from '../loop/loop-state.ts'
import { cutMiddle } from '../tools/cut-middle.ts'

/** Longest text of earlier messages that a new session begins with, and of one message in it, in characters. */
const historyMaxChars = 60_000
const messageMaxChars = 4000

const mcpNote = sanitizeForPrompt(
  'You run inside an agent of a fleet. The MCP server "flotilla" has the tools of the fleet, such as hand_off, complete_task, notify_user and the blackboard: use them for everything that concerns other agents, the owner and your task.',
)
const historyNote = sanitizeForPrompt('[The conversation so far:]')
const interruptedNote = sanitizeForPrompt(
  '[You were interrupted while you worked on the following. What you did before may have taken effect in part or in whole: check what exists, do not repeat it, and go on from there.]',
)
const doneNote = sanitizeForPrompt('[What you did before the interruption:]')

/** A conversation, divided by what a harness needs to know of it. */
export interface DividedTurn {
  /** Messages of earlier turns. */
  readonly before: readonly PromptMessage[]
  /** Messages that the harness has to answer now. */
  readonly asked: readonly PromptMessage[]
  /** What an interrupted attempt of this turn did. */
  readonly done: readonly PromptMessage[]
}

/** Pure. */
export function divideTurn({
  runId,
  messages,
  toolOutputs,
}: Pick<LoopState, 'runId' | 'messages' | 'toolOutputs'>): DividedTurn {
  const own = new Set(toolOutputs.flatMap(({ step }) => [`${runId}:${step}`, `harness:${step}`]))
  const isDone = (message: PromptMessage): boolean => {
    if (message.role === 'tool') return own.has(message.toolCallId)
    return message.role === 'assistant' && message.toolCalls.some(({ id }) => own.has(id))
  }
  const isAsked = ({ role }: PromptMessage): boolean => role === 'user' || role === 'system'
  const begins = messages.findLastIndex((message) => !isDone(message) && !isAsked(message)) + 1
  const turn = messages.slice(begins)
  return { before: messages.slice(0, begins), asked: turn.filter(isAsked), done: turn.filter(isDone) }
}

/** The texts of the first prompt of a run. Pure. */
export function firstTexts(
  turn: DividedTurn,
  session: {
    readonly systemPrompt: PromptText
    /** True if the session knows the messages before. */
    readonly continues: boolean
    /** True if an earlier attempt of the run has used the session. */
    readonly isInterrupted: boolean
  },
): readonly PromptText[] {
  const { before, asked, done } = turn
  const texts: PromptText[] = []
  if (!session.continues) {
    texts.push(session.systemPrompt, mcpNote)
    if (before.length > 0) texts.push(historyNote, transcript(before))
  }
  if (session.isInterrupted || done.length > 0) {
    texts.push(interruptedNote)
    if (!session.continues && done.length > 0) texts.push(doneNote, transcript(done))
  }
  return [...texts, ...asked.map(({ content }) => content)]
}

function transcript(messages: readonly PromptMessage[]): PromptText {
  return cutMiddle(renderTranscript(messages, messageMaxChars), historyMaxChars)
}

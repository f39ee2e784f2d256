import type { ChatHistory, HistoryMessage } from '@flotilla/protocol/chat-history'
import { shownPicture } from '../images/image-store.ts'
import { isSummary } from '../context/context-prompts.ts'
import type { PromptMessage } from '../llm/language-model.ts'
import { isKeptDefinitions } from '../tools/found-tools.ts'
import { madeCall } from '../tools/made-call.ts'
import { isMoment } from '../prompt/moment-message.ts'
import { isNotice, steeredText } from './notices.ts'
import type { Session } from './sessions.ts'

/** Longest text of one message and of all together, so that an answer fits the limits of the mesh. */
const messageMaxChars = 20_000
const allMaxChars = 600_000
const inputMaxChars = 2000

/**
 * A conversation for people to read: the newest `limit` messages that fit. Of the user messages only those
 * with a speaker are shown; what came from a job or another agent is `system`. Pure.
 */
export function sessionHistory(name: string, session: Session, limit: number): ChatHistory {
  const { messages, rounds, continues, taskId } = session
  const spoken = spokenOf(messages)
  const shown: HistoryMessage[] = []
  let roomChars = allMaxChars
  for (const view of spoken.toReversed()) {
    roomChars -= view.text.length + view.calls.reduce((sum, call) => sum + call.input.length, 0)
    if (shown.length === limit || roomChars < 0) break
    shown.unshift(view)
  }
  return { session: name, messages: shown, total: spoken.length, rounds, continues, task_id: taskId }
}

/** Returns the messages with speakers; conversations of older releases have none, so they are guessed from texts. */
function spokenOf(messages: readonly PromptMessage[]): readonly HistoryMessage[] {
  const firstMarked = messages.findIndex((message) => 'by' in message && message.by !== undefined)
  const isOld = (index: number) => firstMarked === -1 || index < firstMarked
  return messages.flatMap((message, index) => {
    if (message.role === 'system') return []
    if (message.role !== 'user') return [viewOf(message)]
    if (message.by !== undefined)
      return [messageView(message.content, message.by === 'person' ? 'user' : 'system')]
    if (isSummary(message)) return [messageView(message.content, 'system')]
    if (!isOld(index) || isMoment(message) || isNotice(message.content) || isKeptDefinitions(message))
      return []
    return [messageView(message.content, 'user')]
  })
}

function messageView(content: string, role: 'user' | 'system'): HistoryMessage {
  return { role, text: cut(steeredText(content) ?? content, messageMaxChars), calls: [] }
}

function viewOf(message: PromptMessage): HistoryMessage {
  const made = message.role === 'assistant' ? message.toolCalls : []
  const seen = message.role === 'tool' ? (message.images ?? []) : []
  return {
    role: message.role,
    text: cut(message.content, messageMaxChars),
    calls: made
      .map(madeCall)
      .map(({ name, arguments: input }) => ({ name, input: cut(input, inputMaxChars) })),
    ...(seen.length > 0 ? { pictures: seen.map(shownPicture) } : {}),
  }
}

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)} [cut]`
}

import type { ChatHistory, HistoryMessage } from '@flotilla/protocol/chat-history'
import type { PromptMessage } from '../llm/language-model.ts'
import type { Session } from './sessions.ts'

/** Longest text of one message, and of all together, so that an answer fits what the mesh reads. */
const messageMaxChars = 20_000
const allMaxChars = 600_000
const inputMaxChars = 2000

/** A conversation for people to read: the newest `limit` messages that fit. Pure. */
export function sessionHistory(name: string, session: Session, limit: number): ChatHistory {
  const { messages, rounds, continues, taskId } = session
  const shown: HistoryMessage[] = []
  let roomChars = allMaxChars
  for (const message of messages.toReversed()) {
    const view = viewOf(message)
    roomChars -= view.text.length + view.calls.reduce((sum, call) => sum + call.input.length, 0)
    if (shown.length === limit || roomChars < 0) break
    shown.unshift(view)
  }
  return { session: name, messages: shown, total: messages.length, rounds, continues, task_id: taskId }
}

function viewOf(message: PromptMessage): HistoryMessage {
  const made = message.role === 'assistant' ? message.toolCalls : []
  return {
    role: message.role,
    text: cut(message.content, messageMaxChars),
    calls: made.map(({ name, arguments: input }) => ({ name, input: cut(input, inputMaxChars) })),
  }
}

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)} [cut]`
}

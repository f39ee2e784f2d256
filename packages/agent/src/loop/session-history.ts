import { readUnanswered } from '@flotilla/protocol/chat-history'
import type { ChatHistory, HistoryMessage } from '@flotilla/protocol/chat-history'
import { shownPicture } from '../images/image-store.ts'
import { isSummary } from '../context/context-prompts.ts'
import type { PromptMessage } from '../llm/language-model.ts'
import { isKeptDefinitions } from '../tools/found-tools.ts'
import { madeCall } from '../tools/made-call.ts'
import { isMoment } from '../prompt/moment-message.ts'
import { isNotice, steeredText } from './notices.ts'
import type { Session } from './sessions.ts'
import { isLearningsNews } from './turn-learnings.ts'

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

/** Returns the messages that people see, each with its run: the run that the nearest earlier message began. */
function spokenOf(messages: readonly PromptMessage[]): readonly HistoryMessage[] {
  let run: string | undefined
  return speakersOf(messages).flatMap(({ message, view }) => {
    // A summary replaces the messages of several runs.
    if ('run' in message) run = message.run
    else if (isSummary(message)) run = undefined
    if (view === null) return []
    return [run === undefined ? view : { ...view, run_id: run }]
  })
}

/** Returns the messages with speakers; conversations of older releases have none, so they are guessed from texts. */
function speakersOf(messages: readonly PromptMessage[]): readonly Spoken[] {
  const firstMarked = messages.findIndex((message) => 'by' in message && message.by !== undefined)
  const isOld = (index: number) => firstMarked === -1 || index < firstMarked
  return messages.map((message, index) => ({ message, view: spokenView(message, isOld(index)) }))
}

interface Spoken {
  readonly message: PromptMessage
  /** Null for messages that people do not see. */
  readonly view: HistoryMessage | null
}

function spokenView(message: PromptMessage, isOld: boolean): HistoryMessage | null {
  if (message.role === 'system') return null
  if (message.role === 'tool') return resultView(message)
  if (message.role === 'assistant') return answerView(message)
  if (message.by !== undefined)
    return messageView(message.content, message.by === 'person' ? 'user' : 'system')
  if (isSummary(message)) return messageView(message.content, 'system')
  if (!isOld || isOfLoop(message)) return null
  return messageView(message.content, 'user')
}

function isOfLoop(message: PromptMessage): boolean {
  return (
    isMoment(message) || isNotice(message.content) || isKeptDefinitions(message) || isLearningsNews(message)
  )
}

function messageView(content: string, role: 'user' | 'system'): HistoryMessage {
  const steered = steeredText(content)
  const view = { role, text: cut(steered ?? content, messageMaxChars), calls: [] }
  return steered === null ? view : { ...view, steered: true }
}

function answerView({ content, toolCalls }: Extract<PromptMessage, { role: 'assistant' }>): HistoryMessage {
  const unanswered = readUnanswered(content)
  return {
    role: 'assistant',
    text: cut(unanswered?.partialAnswer ?? content, messageMaxChars),
    calls: toolCalls
      .map(madeCall)
      .map(({ name, arguments: input }) => ({ name, input: cut(input, inputMaxChars) })),
    ...(unanswered === null ? {} : { unanswered: cut(unanswered.reason, inputMaxChars) }),
  }
}

function resultView({
  content,
  images = [],
  ended,
}: Extract<PromptMessage, { role: 'tool' }>): HistoryMessage {
  return {
    role: 'tool',
    text: cut(content, messageMaxChars),
    calls: [],
    ...(images.length > 0 ? { pictures: images.map(shownPicture) } : {}),
    ...(ended === undefined ? {} : { ended }),
  }
}

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)} [cut]`
}

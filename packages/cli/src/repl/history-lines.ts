import type {
  ChatHistory,
  ChatResetReply,
  ChatSessions,
  HistoryMessage,
} from '@flotilla/protocol/chat-history'
import { markedLines, oneLine } from '../terminal/color.ts'
import type { Color } from '../terminal/color.ts'
import { formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

const resultColumnsMax = 160

/** Formats a conversation as lines; `more` is the option or command that shows more messages. Pure. */
export function historyLines(history: ChatHistory, color: Color, more = '--limit'): string[] {
  const { session, messages, total } = history
  if (total === 0) return [`Nothing was said yet in the conversation ${oneLine(session, 200)}.`]
  const left = total - messages.length
  return [
    ...(left > 0
      ? [color.faint(`… ${left} older ${left === 1 ? 'message' : 'messages'}; ${more} shows more`)]
      : []),
    ...messages.flatMap((message) => messageLines(message, color)),
  ]
}

function messageLines({ role, text, calls }: HistoryMessage, color: Color): string[] {
  if (role === 'tool') return [color.faint(`  ↳ ${oneLine(text, resultColumnsMax)}`)]
  if (role === 'system') return [color.faint(oneLine(text, resultColumnsMax))]
  const who = role === 'user' ? color.strong('you') : color.name('agent')
  return [
    ...(text === '' ? [] : markedLines(text).map((line, index) => (index === 0 ? `${who}: ${line}` : line))),
    ...calls.map(({ name, input }) =>
      color.faint(`  → ${oneLine(name, 64)} ${oneLine(input, resultColumnsMax)}`),
    ),
  ]
}

/** Pure. */
export function sessionRows({ sessions, total }: ChatSessions): string[] {
  if (sessions.length === 0) return ['No conversations yet.']
  const left = total - sessions.length
  return [
    ...renderTable(
      [
        { title: 'CONVERSATION' },
        { title: 'MESSAGES', align: 'right' },
        { title: 'LAST SAID (UTC)' },
        { title: 'TASK' },
      ],
      sessions.map((one) => [
        oneLine(one.session, 80),
        `${one.messages}`,
        formatTime(one.updated_at),
        oneLine(one.task_id ?? '', 40),
      ]),
    ),
    ...(left > 0 ? [`… and ${left} older ones`] : []),
  ]
}

/** Pure. */
export function resetLine({ session, archived_messages: count }: ChatResetReply): string {
  const name = oneLine(session, 200)
  if (count === 0) return `Nothing was said yet in the conversation ${name}.`
  return `The conversation ${name} starts from the beginning; its ${count} messages are archived.`
}

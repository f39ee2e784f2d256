import { describeWebhookMessage } from '@flotilla/protocol/webhook-message'
import { wordsOfMessage } from '@flotilla/protocol/chat-attachments'
import { terminalSession } from '@flotilla/protocol/chat-history'
import type { ChatSessions } from '@flotilla/protocol/chat-history'
import type { RunView } from '@flotilla/protocol/run'
import { unattendedSession } from '@flotilla/protocol/unattended-session'
import { channelTitles } from '../../data/channel-titles.ts'
import { formatDay } from '../../data/format.ts'
import { stripMarkdown } from '../../data/strip-markdown.ts'

/** The longest part of a first message that names its conversation, in characters. */
const wordsMaxChars = 48

export interface NamedConversation {
  readonly session: string
  /** The name that a person gave it, else its first words; empty if neither is known. */
  readonly title: string
  /** When its last message came, in milliseconds since 1970; null without messages. */
  readonly at: number | null
  /** Where it began, in words. */
  readonly place: string
  /** The title, the day of the last message and the place; the session's own name without a title. */
  readonly label: string
}

/**
 * Names the conversations of an agent by their first words and date. The words come from the oldest listed run of each; a
 * conversation without a listed run has only its session's name. `open` is listed also without messages. Pure.
 */
export function conversationNames(
  { sessions }: Pick<ChatSessions, 'sessions'>,
  {
    runs,
    open,
    given = () => undefined,
    titles = new Map(),
  }: {
    readonly runs: readonly RunView[]
    readonly open: readonly string[]
    /** Returns the name that the person gave. */
    readonly given?: (session: string) => string | undefined
    /** Titles of tasks by their ids, for the conversations in which an agent worked on them. */
    readonly titles?: ReadonlyMap<string, string>
  },
): readonly NamedConversation[] {
  const first = new Map<string, string>()
  // Runs are listed newest first, so the last one of a conversation is its oldest.
  for (const { input } of runs) if (input.kind === 'chat') first.set(input.session, input.message)
  const known = new Map(sessions.map((one) => [one.session, one]))
  return [...new Set([...open, ...known.keys()])].map((session) => {
    const own = given(session)
    const task = titles.get(known.get(session)?.task_id ?? '')
    const title =
      own ?? (task === undefined ? beginOf(first.get(session) ?? '') : firstWords(`Task: ${task}`))
    const at = known.get(session)?.updated_at ?? null
    const place = placeOf(session)
    const parts = [title, at === null ? '' : formatDay(at), title === '' ? session : place]
    return { session, title, at, place, label: parts.filter((part) => part !== '').join(' · ') }
  })
}

/** Returns the conversations whose name or session contains the words. Pure. */
export function matchingConversations(
  named: readonly NamedConversation[],
  words: string,
): readonly NamedConversation[] {
  const wanted = words.trim().toLowerCase()
  return wanted === ''
    ? named
    : named.filter(({ label, session }) => `${label} ${session}`.toLowerCase().includes(wanted))
}

const { webhook, folder, blackboard, agent } = unattendedSession
/** How the names of sessions begin that the mesh chooses, and what a person calls the place. */
const places: readonly (readonly [beginning: string, place: string])[] = [
  ['dashboard', 'dashboard'],
  ['task:', 'task'],
  ['cron:', 'schedule'],
  // A session of a webhook begins as one of the webhook channel would; it is the first that is found.
  [webhook(''), 'webhook'],
  ...Object.entries(channelTitles).map(([name, title]) => [`${name}:`, title] as const),
  [folder(''), 'watched folder'],
  [blackboard(''), 'blackboard'],
  [agent(''), 'other agent'],
]

/** Returns where a conversation began; a session that a person named keeps its name. */
function placeOf(session: string): string {
  if (session === terminalSession) return 'terminal'
  return places.find(([beginning]) => session.startsWith(beginning))?.[1] ?? session
}

function beginOf(message: string): string {
  return firstWords(describeWebhookMessage(message) ?? stripMarkdown(wordsOfMessage(message)))
}

function firstWords(message: string): string {
  const line = message.replaceAll(/\s+/g, ' ').trim()
  if (line.length <= wordsMaxChars) return line
  const cut = line.slice(0, wordsMaxChars)
  const space = cut.lastIndexOf(' ')
  return `${space > wordsMaxChars / 2 ? cut.slice(0, space) : cut} …`
}

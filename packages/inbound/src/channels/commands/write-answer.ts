import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelName } from '@flotilla/protocol/people'
import type { Problem } from '@flotilla/protocol/problem'
import type { Database } from '@flotilla/foundation/storage'
import type { ConversationPlace } from '../adapter.ts'
import type { CommandReply } from './channel-command.ts'
import { spellCommands } from './spell-commands.ts'
import type { LetterTable } from '../messages/letter-table.ts'
import { tellableDetail } from '../delivery/owner-figures.ts'
import type { Became, MessageTable } from '../messages/message-table.ts'
import type { PlainMessage } from '../messages/plain-message.ts'

export interface WriteDeps {
  readonly database: Database
  readonly messages: MessageTable
  readonly letters: LetterTable
  readonly clock: Clock
  /** Letters of the channel were written. */
  readonly wake: (channel: ChannelName) => void
}

/** The reply in a group if the answer went to a direct conversation. */
const answeredAlone = 'The answer is in our direct conversation.'

/** Returns the text of a refusal for that conversation. Pure. */
export function problemText(problem: Problem, place: ConversationPlace): string {
  const stated = tellableDetail(problem, place)
  const detail = stated === '' ? problem.code : stated
  return `Not done: ${detail}${/[.!?]$/.test(detail) ? '' : '.'}`
}

interface Answered {
  readonly channel: ChannelName
  readonly message: PlainMessage
  readonly became: Became
  /** The person who gets the reply; absent for strangers. */
  readonly person?: string | undefined
  readonly runId?: string | undefined
}

interface Answering {
  readonly channel: ChannelName
  readonly message: PlainMessage
  readonly person?: string | null | undefined
}

/** Writes the message's row and the reply in one transaction, unless the message was stored before. */
export function writeAnswered(
  deps: WriteDeps,
  { channel, message, person, became, runId }: Answered,
  reply: CommandReply | null,
): void {
  deps.database.transaction(() => {
    const at = deps.clock.now()
    const taken = {
      channel,
      messageId: message.id,
      senderId: message.senderId,
      became,
      runId: runId ?? null,
      at,
    }
    if (!deps.messages.take(taken)) return
    writeReply(deps, { channel, message, person }, reply)
  })
}

/** Writes the reply as a letter, unless too many letters wait. Joins the caller's transaction. */
export function writeReply(
  deps: Omit<WriteDeps, 'messages'>,
  { channel, message, person = null }: Answering,
  reply: CommandReply | null,
): void {
  if (reply === null || reply.text === '') return
  if (!deps.letters.hasRoom(channel, { person })) return
  const { id, place, senderId } = message
  const letter = { channel, place, source: `message:${id}`, replyToId: id, person, senderId }
  const text = spellCommands(channel, reply.text)
  const content = { text, buttons: reply.buttons ?? [] }
  const now = deps.clock.now()
  if (reply.aloneAt === undefined) deps.letters.add({ ...letter, ...content }, now)
  else {
    const source = `${letter.source}:alone`
    deps.letters.add({ ...letter, ...content, source, place: reply.aloneAt, replyToId: null }, now)
    deps.letters.add({ ...letter, text: answeredAlone }, now)
  }
  deps.database.afterCommit(() => deps.wake(channel))
}

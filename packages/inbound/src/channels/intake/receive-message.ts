import type { ChannelName } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import type { CallRate, HumanCaller } from '@flotilla/identity/access'
import type { Journal } from '@flotilla/foundation/journal'
import { albumByTime } from '../adapter.ts'
import type { ReceivedMessage } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import type { AnswerMessage } from '../commands/answer-message.ts'
import { codeIn } from '../pairing/pairing-codes.ts'
import type { PairingCodes } from '../pairing/pairing-codes.ts'
import { withForwarded } from '../messages/forwarded-text.ts'
import { hasRoom } from '../messages/join-album.ts'
import { plainMessage } from '../messages/plain-message.ts'
import type { PlainMessage } from '../messages/plain-message.ts'
import { createRecentIds } from '../recent-ids.ts'
import type { StrangerTable } from '../messages/stranger-table.ts'
import type { TalkTable } from '../messages/talk-table.ts'
import { problemText, writeAnswered } from '../commands/write-answer.ts'
import type { WriteDeps } from '../commands/write-answer.ts'

export interface ReceiveDeps extends WriteDeps {
  readonly journal: Journal
  readonly people: {
    /** Returns why people.json cannot be used at present, or null. */
    broken(): string | null
    channelCaller(channel: ChannelName, id: string): HumanCaller | null
    /** Links the identity to the issuer of the code. Throws the Problems `conflict` and `unprocessable`. */
    adoptIdentity(issuer: HumanCaller, identity: string): Promise<string>
  }
  readonly strangers: StrangerTable
  readonly talks: Pick<TalkTable, 'spoke'>
  readonly codes: PairingCodes
  readonly rate: CallRate
  readonly answer: AnswerMessage
}

/**
 * Receives a message of a platform. Resolves once the message and its effect are persisted (I1), or if it can be
 * dropped. A repeated message has no effect (I2). Rejects if the row could not be written, so that the platform sends
 * the message again (I3).
 */
export type ReceiveMessage = (channel: ChannelName, received: ReceivedMessage) => Promise<void>

export function createReceiveMessage(deps: ReceiveDeps): ReceiveMessage {
  const { people, messages, codes } = deps
  /** The messages in progress, by channel and id. A concurrent duplicate waits for the first message. */
  const underWay = new Map<string, Promise<void>>()
  /** The albums of which a message got a reply; further messages of the album would get the same reply. */
  const answeredAlbums = createRecentIds(channelLimits.answeredAlbumsMax)

  async function take(channel: ChannelName, message: PlainMessage): Promise<void> {
    if (messages.isTaken(channel, message.id)) return
    const broken = people.broken()
    if (broken !== null) throw new Problem('unprocessable', { detail: broken })
    const code = codes.isOpen(channel) && message.place.isPrivate ? codeIn(message.text) : null
    const issuer = code === null ? null : codes.take(channel, message.senderId, code)
    if (issuer) return pair(deps, { channel, message, issuer })
    const caller = people.channelCaller(channel, message.senderId)
    if (!caller) return refuseStranger(deps, channel, message)
    await answer(channel, message, caller)
  }

  async function answer(channel: ChannelName, message: PlainMessage, caller: HumanCaller): Promise<void> {
    const person = caller.person ?? message.senderId
    // Time-based albums all have one id, so an earlier reply says nothing about the next album.
    const isNamed = message.albumId !== null && message.albumId !== albumByTime
    const albumKey = isNamed ? `${channel} ${message.senderId} ${message.albumId}` : null
    if (
      albumKey !== null &&
      withForwarded(message.text, message.forwarded) === '' &&
      answeredAlbums.has(albumKey)
    )
      return
    const album = messages.openAlbum(channel, message, deps.clock.now())
    try {
      if (album === null || !hasRoom(album)) deps.rate.take(person)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      // Only the first refused message gets a reply. Others are not stored, so a flood cannot fill the disk.
      if (!deps.rate.isFirstRefusal(person)) return
      const text = `Too many messages: ${error.detail}. Your last message was ignored; send it again later.`
      writeAnswered(deps, { channel, message, person, became: 'limited' }, { text })
      return
    }
    try {
      deps.answer({ caller, channel, person, message, argument: '' })
      const isOpen = messages.openAlbum(channel, message, deps.clock.now()) !== null
      if (albumKey !== null && !isOpen) answeredAlbums.add(albumKey)
    } catch (error) {
      if (!(error instanceof Problem) || error.code === 'disk-full') throw error
      if (albumKey !== null) answeredAlbums.add(albumKey)
      writeAnswered(
        deps,
        { channel, message, person, became: 'refused' },
        { text: problemText(error, message.place) },
      )
    }
  }

  /** Returns a message of an open album, because in a group only one message of an album mentions the bot. */
  function partOfAlbum(channel: ChannelName, received: ReceivedMessage): PlainMessage | null {
    if (received.albumId === undefined || received.addressed) return null
    const message = plainMessage(channel, { ...received, addressed: true })
    return message !== null && messages.openAlbum(channel, message, deps.clock.now()) !== null
      ? message
      : null
  }

  return (channel, received) => {
    const message = plainMessage(channel, received) ?? partOfAlbum(channel, received)
    if (message === null) return Promise.resolve()
    const key = `${channel} ${message.id}`
    const known = underWay.get(key)
    if (known) return known
    const work = take(channel, message).finally(() => underWay.delete(key))
    underWay.set(key, work)
    return work
  }
}

function refuseStranger(deps: ReceiveDeps, channel: ChannelName, message: PlainMessage): void {
  const { senderId } = message
  const identity = `${channel}:${senderId}`
  deps.database.transaction(() => {
    // A stranger gets the reply only once, and only while the replies of this minute are not used up.
    if (!deps.strangers.refuse(channel, senderId, deps.clock.now())) return
    const text = [
      `I do not know you. Your id here is ${identity}.`,
      `The owner of this fleet can give you access, in a terminal of its machine: flotilla people link NAME ${identity}`,
    ].join('\n')
    writeAnswered(deps, { channel, message, became: 'refused' }, { text })
    deps.journal.append({
      actor: 'system',
      action: 'channel.stranger-refused',
      subject: identity,
      detail: { channel },
    })
  })
}

async function pair(
  deps: ReceiveDeps,
  {
    channel,
    message,
    issuer,
  }: { readonly channel: ChannelName; readonly message: PlainMessage; readonly issuer: HumanCaller },
): Promise<void> {
  const identity = `${channel}:${message.senderId}`
  let name: string
  try {
    name = await deps.people.adoptIdentity(issuer, identity)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    deps.codes.settle(channel, 'refused', error.detail)
    writeAnswered(deps, { channel, message, became: 'refused' }, { text: problemText(error, message.place) })
    return
  }
  deps.database.transaction(() => {
    deps.strangers.forget(channel, message.senderId)
    // Notices go to where a person last wrote, which is here.
    deps.talks.spoke({ channel, person: name, place: message.place }, message.senderId, deps.clock.now())
    deps.journal.append({ actor: 'system', action: 'channel.paired', subject: identity, detail: { channel } })
    const text = `You are ${name} here, an owner of this fleet. /help lists the commands.`
    writeAnswered(deps, { channel, message, person: name, became: 'paired' }, { text })
  })
  deps.codes.settle(channel, 'paired', `${name} (${identity})`)
}

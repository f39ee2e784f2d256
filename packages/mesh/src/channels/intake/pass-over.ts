import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelName } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '../../journal/index.ts'
import type { Log } from '../../platform/index.ts'
import type { Database } from '../../storage/index.ts'
import type { PassedOver } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import type { LetterTable } from '../delivery/letter-table.ts'
import type { ReceiveMessage } from './receive-message.ts'
import type { TalkTable } from './talk-table.ts'

export interface PassOverDeps {
  readonly database: Database
  readonly journal: Journal
  readonly letters: Pick<LetterTable, 'add' | 'openCount'>
  readonly talks: Pick<TalkTable, 'alonePlaceOf'>
  readonly ownersOn: (channel: ChannelName) => readonly string[]
  readonly wake: (channel: ChannelName) => void
  readonly clock: Clock
  readonly log: Log
}

/** Writes down that a message was passed over, and tells the owners of it where they speak alone with us, once. */
export function createPassOver(deps: PassOverDeps): (channel: ChannelName, what: PassedOver) => void {
  const { database, journal, letters, talks, clock } = deps
  return (channel, { id, detail }) => {
    const subject = `${channel}:${id.slice(0, channelLimits.messageIdMaxChars)}`
    deps.log.error(
      { channel, messageId: id },
      'a message from a channel was passed over; owners are told of it',
    )
    database.transaction(() => {
      journal.append({ actor: 'system', action: 'channel.message-passed-over', subject, detail: { detail } })
      if (letters.openCount(channel) >= channelLimits.openLettersMax) return
      const text = `A message here could not be taken and was passed over (${subject}): ${detail}. The log of the mesh says more.`
      for (const person of deps.ownersOn(channel)) {
        const place = talks.alonePlaceOf(channel, person)
        // A channel is told of the same source once.
        if (place !== null)
          letters.add({ channel, place, source: `passed:${person}:${subject}`, text }, clock.now())
      }
      database.afterCommit(() => deps.wake(channel))
    })
  }
}

/**
 * As `receive`, but a message over which the mesh stumbles again and again is passed over, so that what stands behind it is
 * heard. What holds for all messages (no room on the disk, nobody can be told apart, a database that cannot be written) is
 * no fault of the message, and is waited out.
 */
export function createPatientReceive(deps: {
  readonly receive: ReceiveMessage
  readonly passOver: (channel: ChannelName, what: PassedOver) => void
  readonly log: Log
}): ReceiveMessage {
  const tries = new Map<string, number>()
  return async (channel, received) => {
    const key = `${channel} ${received.id}`
    try {
      await deps.receive(channel, received)
      tries.delete(key)
    } catch (error) {
      if (isOfTheMesh(error)) throw error
      const count = (tries.get(key) ?? 0) + 1
      tries.delete(key)
      if (count < channelLimits.takeTriesMax) {
        tries.set(key, count)
        const [oldest] = tries.keys()
        if (tries.size > channelLimits.triedMessagesMax && oldest !== undefined) tries.delete(oldest)
        throw error
      }
      deps.log.error(
        { channel, err: error },
        'a message from a channel could not be taken in any of its tries; it is passed over',
      )
      deps.passOver(channel, { id: received.id, detail: `the mesh stumbled over it ${count} times` })
    }
  }
}

/** Result codes of SQLite that say something of the database: it is locked, read-only, broken, full or cannot be opened. */
const databaseCodes: ReadonlySet<number> = new Set([5, 6, 7, 8, 10, 11, 13, 14, 26])

/** Whether every other message would meet it too. Pure. */
function isOfTheMesh(error: unknown): boolean {
  if (error instanceof Problem) return true
  if (!(error instanceof Error)) return false
  if ('errcode' in error && typeof error.errcode === 'number') return databaseCodes.has(error.errcode & 0xff)
  return (
    'code' in error && ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE'].includes(String(error.code))
  )
}

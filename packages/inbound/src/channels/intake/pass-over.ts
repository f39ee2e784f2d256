import type { Clock } from '@flotilla/protocol/clock'
import type { ChannelName } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'
import type { PassedOver } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import type { LetterTable } from '../messages/letter-table.ts'
import type { ReceiveMessage } from './receive-message.ts'
import type { TalkTable } from '../messages/talk-table.ts'

export interface PassOverDeps {
  readonly database: Database
  readonly journal: Journal
  readonly letters: Pick<LetterTable, 'add' | 'hasRoom'>
  readonly talks: Pick<TalkTable, 'alonePlaceOf'>
  readonly ownersOn: (channel: ChannelName) => readonly string[]
  readonly wake: (channel: ChannelName) => void
  readonly clock: Clock
  readonly log: Log
}

/** Records that a message was skipped, and notifies the owners once in their direct conversations. */
export function createPassOver(deps: PassOverDeps): (channel: ChannelName, what: PassedOver) => void {
  const { database, journal, letters, talks, clock } = deps
  return (channel, { id, detail }) => {
    const subject = `${channel}:${id.slice(0, channelLimits.messageIdMaxChars)}`
    deps.log.error({ channel, messageId: id }, 'skipped a message from a channel; owners are notified')
    database.transaction(() => {
      journal.append({ actor: 'system', action: 'channel.message-passed-over', subject, detail: { detail } })
      const text = `A message here could not be processed and was skipped (${subject}): ${detail}. See the log of the mesh.`
      for (const person of deps.ownersOn(channel)) {
        const place = talks.alonePlaceOf(channel, person)
        // The source contains the person, because a channel gets only one letter per source.
        if (place !== null && letters.hasRoom(channel, { person }))
          letters.add({ channel, place, source: `passed:${person}:${subject}`, text, person }, clock.now())
      }
      database.afterCommit(() => deps.wake(channel))
    })
  }
}

/**
 * Creates a function that works as `receive`, but skips a message that repeatedly causes an internal
 * error, so that later messages are processed. Failures that affect all messages (disk full,
 * people.json broken, database not writable) are not counted against the message.
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
        'failed to process a message from a channel in every attempt; skipping it',
      )
      deps.passOver(channel, {
        id: received.id,
        detail: `the message caused an internal error ${count} times`,
      })
    }
  }
}

/** SQLite result codes that concern the whole database: locked, read-only, corrupt, full or not accessible. */
const databaseCodes: ReadonlySet<number> = new Set([5, 6, 7, 8, 10, 11, 13, 14, 26])

/** True if the error would affect every message. Pure. */
function isOfTheMesh(error: unknown): boolean {
  if (error instanceof Problem) return true
  if (!(error instanceof Error)) return false
  if ('errcode' in error && typeof error.errcode === 'number') return databaseCodes.has(error.errcode & 0xff)
  return (
    'code' in error && ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE'].includes(String(error.code))
  )
}

import type { Clock } from '@flotilla/protocol/clock'
import { channelNames } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import type { HumanCaller } from '@flotilla/identity/access'
import type { Journal } from '@flotilla/foundation/journal'
import type { Database } from '@flotilla/foundation/storage'
import type { ChangedIdentity } from '../adapter.ts'
import type { MessageTable } from '../messages/message-table.ts'
import type { TalkTable } from '../messages/talk-table.ts'
import type { LetterTable } from '../messages/letter-table.ts'

export interface NotifyIdentityChangeDeps {
  readonly database: Database
  readonly journal: Journal
  readonly messages: Pick<MessageTable, 'take'>
  readonly letters: Pick<LetterTable, 'add' | 'hasRoom'>
  readonly talks: Pick<TalkTable, 'alonePlaceOf'>
  readonly callerOf: (channel: ChannelName, senderId: string) => HumanCaller | null
  readonly ownersOn: (channel: ChannelName) => readonly string[]
  readonly wake: (channel: ChannelName) => void
  readonly clock: Clock
}

/**
 * Records that a known person has another id on a platform and sends the owners the commands to run, once per change.
 * The person's permissions stay with the old id until an owner moves them, because data from a platform never grants
 * permissions.
 */
export function createNotifyIdentityChange(
  deps: NotifyIdentityChangeDeps,
): (channel: ChannelName, change: ChangedIdentity) => void {
  const { database, journal, letters, clock } = deps
  return (channel, { id, from, to }) => {
    const person = deps.callerOf(channel, from)?.person
    if (person === undefined || from === to) return
    const [before, after] = [`${channel}:${from}`, `${channel}:${to}`]
    const text = [
      `${person} has another id on ${channel}: ${after} instead of ${before}. The new id is not linked yet. The platform may give the old id to another user, who would then be treated as ${person}.`,
      `In a terminal of the machine: flotilla people unlink ${person} ${before} and flotilla people link ${person} ${after}`,
    ].join('\n')
    database.transaction(() => {
      const row = { channel, messageId: id, senderId: from, became: 'notice', at: clock.now() } as const
      if (!deps.messages.take(row)) return
      journal.append({
        actor: 'system',
        action: 'channel.identity-changed',
        subject: before,
        detail: { to: after },
      })
      for (const at of channelNames) {
        for (const owner of deps.ownersOn(at)) {
          const place = deps.talks.alonePlaceOf(at, owner)
          const source = `identity:${owner}:${before}:${after}`
          if (place !== null && letters.hasRoom(at, { person: owner }))
            letters.add({ channel: at, place, source, text, person: owner }, clock.now())
        }
        database.afterCommit(() => deps.wake(at))
      }
    })
  }
}

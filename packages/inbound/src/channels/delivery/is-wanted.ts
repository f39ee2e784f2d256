import type { ChannelName } from '@flotilla/protocol/people'
import { ChannelFailure } from '../adapter.ts'
import type { TalkTable } from '../messages/talk-table.ts'
import type { Letter } from '../messages/letter-table.ts'
import { noticePrefix } from './send-notices.ts'

/**
 * Creates the check whether a letter may still be sent. A person who was removed, lost the account
 * or is no longer an owner gets no more letters. Replies to strangers are always sent. Throws a
 * `ChannelFailure` if people.json cannot be read: unrequested notices then wait.
 */
export function createIsWanted(deps: {
  readonly isTheirs: (channel: string, senderId: string, person: string) => boolean
  readonly talks: Pick<TalkTable, 'isTold'>
  readonly broken: () => string | null
  readonly ownersOn: (channel: ChannelName) => readonly string[]
}): (letter: Letter) => boolean {
  return ({ channel: name, source, person, senderId, place }) => {
    if (person === null) return true
    const channel = name as ChannelName // The mesh wrote this row.
    if (source.startsWith(noticePrefix)) {
      const broken = deps.broken()
      if (broken !== null) throw new ChannelFailure('unreachable', broken)
      if (!deps.ownersOn(channel).includes(person)) return false
    }
    if (senderId !== null) return deps.isTheirs(channel, senderId, person)
    return deps.talks.isTold({ channel, person, place })
  }
}

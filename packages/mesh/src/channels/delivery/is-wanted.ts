import type { ChannelName } from '@flotilla/protocol/people'
import { ChannelFailure } from '../adapter.ts'
import type { TalkTable } from '../intake/talk-table.ts'
import type { Letter } from './letter-table.ts'
import { noticePrefix } from './tell-notices.ts'

/**
 * Whether a letter may still be sent: whoever was let go, lost the account or owns nothing any more since it was written is
 * told nothing of it. What answers somebody whom nobody knows goes out as it is. Throws a `ChannelFailure` where owners cannot be
 * told apart at the moment: what they did not ask for waits then.
 */
export function createIsWanted(deps: {
  readonly isTheirs: (channel: string, senderId: string, person: string) => boolean
  readonly talks: Pick<TalkTable, 'isTold'>
  readonly broken: () => string | null
  readonly ownersOn: (channel: ChannelName) => readonly string[]
}): (letter: Letter) => boolean {
  return ({ channel: name, source, person, senderId, place }) => {
    if (person === null) return true
    const channel = name as ChannelName // a row of ours
    if (source.startsWith(noticePrefix)) {
      const broken = deps.broken()
      if (broken !== null) throw new ChannelFailure('unreachable', broken)
      if (!deps.ownersOn(channel).includes(person)) return false
    }
    if (senderId !== null) return deps.isTheirs(channel, senderId, person)
    return deps.talks.isTold({ channel, person, place })
  }
}

import type { ChannelName } from '@flotilla/protocol/people'
import { channelCommands } from './command-table.ts'
import { commandForAll } from './command-for-all.ts'

const named = new RegExp(
  `(^|[\\s(])/(${channelCommands.map(({ name }) => name).join('|')})(?![\\w/-]|\\.\\w)`,
  'g',
)

/** Returns the reply with its commands in the form that users type on that platform. Pure. */
export function spellCommands(channel: ChannelName, text: string): string {
  const forAll = commandForAll[channel]
  return forAll === undefined ? text : text.replace(named, `$1${forAll} $2`)
}

import type { ChannelName } from '@flotilla/protocol/people'
import { channelCommands } from './command-table.ts'
import { commandForAll } from './command-for-all.ts'

const named = new RegExp(
  `(^|[\\s(])/(${channelCommands.map(({ name }) => name).join('|')})(?![\\w/-]|\\.\\w)`,
  'g',
)

/** Spells the commands in a reply as users type them on that platform. Pure. */
export function spellCommands(channel: ChannelName, text: string): string {
  const forAll = commandForAll[channel]
  return forAll === undefined ? text : text.replace(named, `$1${forAll} $2`)
}

import { hintOfName } from '@flotilla/protocol/nearest-name'
import { channelNames } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'

/** Returns the channel name. Throws Problem `not-found` for an unknown name. */
export function requiredChannel(name: string): ChannelName {
  const channel = channelNames.find((one) => one === name)
  if (channel !== undefined) return channel
  throw new Problem('not-found', {
    detail: `there is no channel ${name.slice(0, 32)}; ${hintOfName(name, channelNames, 'the channels are')}`,
  })
}

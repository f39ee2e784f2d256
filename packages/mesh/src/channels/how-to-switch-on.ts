import { channelSetUp } from '@flotilla/protocol/channel-fields'
import type { ChannelName } from '@flotilla/protocol/people'

/** From nothing, for who reads it at a terminal or in a problem; the form of the dashboard has its fields below. Pure. */
export function howToSwitchOn(name: ChannelName): string {
  const address = name === 'webhook' ? ' --answers-to URL' : ''
  return `${channelSetUp[name]} Switch it on with: flotilla channels add ${name}${address}`
}

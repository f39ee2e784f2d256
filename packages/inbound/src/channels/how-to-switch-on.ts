import { channelSetUp } from '@flotilla/protocol/channel-fields'
import type { ChannelName } from '@flotilla/protocol/people'

/** Returns how to switch a channel on, for terminals and problem texts; the dashboard shows a form instead. Pure. */
export function howToSwitchOn(name: ChannelName): string {
  const address = name === 'webhook' ? ' --answers-to URL' : ''
  return `${channelSetUp[name]} Switch it on with: flotilla channels add ${name}${address}`
}

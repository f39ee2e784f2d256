import { channelSetUp } from '@flotilla/protocol/channel-fields'
import type { ChannelName } from '@flotilla/protocol/people'

/** Instructions for terminals and problem texts. The form of the dashboard shows the fields itself. Pure. */
export function howToSwitchOn(name: ChannelName): string {
  const address = name === 'webhook' ? ' --answers-to URL' : ''
  return `${channelSetUp[name]} Switch it on with: flotilla channels add ${name}${address}`
}

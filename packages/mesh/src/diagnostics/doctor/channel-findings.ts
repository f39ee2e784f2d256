import type { ChannelView } from '@flotilla/protocol/channels-api'
import { failure, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** Of chat platforms that are on and of which there is something to say; nothing is said of the others. Pure. */
export function channelFindings(
  troubled: readonly Pick<ChannelView, 'name' | 'state' | 'detail' | 'repair'>[],
): readonly DoctorFinding[] {
  return troubled.map(({ name, state, detail, repair }) => {
    const words = `${name}: ${detail}`
    const next = repair === '' ? 'The mesh retries automatically; flotilla channels shows the state.' : repair
    return state === 'refused' ? failure('channel', words, next) : warning('channel', words, next)
  })
}

import type { ChannelView } from '@flotilla/protocol/channels-api'
import { failure, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** Reports enabled chat platforms with a problem; no finding for the others. Pure. */
export function channelFindings(
  troubled: readonly Pick<ChannelView, 'name' | 'state' | 'detail' | 'repair'>[],
): readonly DoctorFinding[] {
  return troubled.map(({ name, state, detail, repair }) => {
    const text = `${name}: ${detail}`
    const next = repair === '' ? 'The mesh retries automatically; flotilla channels shows the state.' : repair
    return state === 'refused' ? failure('channel', text, next) : warning('channel', text, next)
  })
}

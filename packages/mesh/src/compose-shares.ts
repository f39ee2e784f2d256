import { agentShare } from '@flotilla/protocol/limits'
import { createHeldBytes } from './intake/held-bytes.ts'
import { createLoopShare } from './intake/loop-share.ts'
import { loopCpuMs, systemClock } from './system-clock.ts'

/** What one agent may take of the mesh. Its programs call and never answer, so that calls cannot use up what replies have. */
export function composeShares() {
  const share = { clock: systemClock, cpuMs: loopCpuMs, msPerMinute: agentShare.loopMsPerMinute }
  return {
    held: createHeldBytes(agentShare),
    calls: createLoopShare({ ...share, what: 'calls of this agent' }),
    replies: createLoopShare({ ...share, what: 'replies of this agent' }),
  }
}

import { agentShare } from '@flotilla/protocol/limits'
import { createHeldBytes } from './intake/held-bytes.ts'
import { createLoopShare } from './intake/loop-share.ts'
import { loopCpuMs, systemClock } from './system-clock.ts'

/** What one agent may take of the mesh, apart for what it calls and what it answers: calls of anybody use up nothing that replies have. */
export function composeShares() {
  const share = { clock: systemClock, cpuMs: loopCpuMs, msPerMinute: agentShare.loopMsPerMinute }
  return {
    held: { calls: createHeldBytes(agentShare), replies: createHeldBytes(agentShare) },
    calls: createLoopShare({ ...share, what: 'calls of this agent' }),
    replies: createLoopShare({ ...share, what: 'replies of this agent' }),
  }
}

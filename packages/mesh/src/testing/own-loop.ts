import { createAgentShares } from '../intake/index.ts'
import type { LoopShare } from '../intake/index.ts'
import { loopCpuMs, systemClock } from '../platform/index.ts'

/** A share of the loop as each mesh has it, for tests of what is done on it. */
export function ownLoop(): LoopShare {
  return createAgentShares({ clock: systemClock, cpuMs: loopCpuMs }).calls
}

import { createAgentShares } from '../../foundation/src/intake/index.ts'
import type { LoopShare } from '../../foundation/src/intake/index.ts'
import { loopCpuMs, systemClock } from '../../foundation/src/platform/index.ts'

/** A share of the event loop with the mesh's own limits, for tests. */
export function ownLoop(): LoopShare {
  return createAgentShares({ clock: systemClock, cpuMs: loopCpuMs }).calls
}

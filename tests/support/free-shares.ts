import { createHeldBytes } from '../../packages/foundation/src/intake/held-bytes.ts'
import { agentShareLimits } from '../../packages/foundation/src/intake/index.ts'

/** Shares for tests of other subjects: the byte bounds are the real ones, and event loop time is not bounded. */
export function freeShares() {
  return {
    held: createHeldBytes(agentShareLimits.heldBytes),
    downloads: createHeldBytes(agentShareLimits.downloadBytes),
    loop: {
      require: () => {},
      waitMs: () => 0,
      turn: () => null,
      spend: <T>(_agentId: string, work: () => T): T => work(),
    },
  }
}

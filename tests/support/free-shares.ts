import { agentShare } from '@flotilla/protocol/limits'
import { createHeldBytes } from '../../packages/foundation/src/intake/held-bytes.ts'

/** Shares for tests of other subjects: the byte bounds are the real ones, and event loop time is not bounded. */
export function freeShares() {
  return {
    held: createHeldBytes(agentShare.heldBytes),
    downloads: createHeldBytes(agentShare.downloadBytes),
    loop: {
      require: () => {},
      waitMs: () => 0,
      turn: () => null,
      spend: <T>(_agentId: string, work: () => T): T => work(),
    },
  }
}

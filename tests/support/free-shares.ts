import { agentShare } from '@flotilla/protocol/limits'
import { createHeldBytes } from '../../packages/mesh/src/intake/held-bytes.ts'

/** Shares of the mesh as they are, for tests whose subject is another: the bytes are bounded, and the loop is free. */
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

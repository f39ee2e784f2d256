import { createFairShare } from './fair-share.ts'
import type { ShareBounds, ShareFull } from './fair-share.ts'

/** Places for things that agents have open at once, such as connections: each agent has a share, and its floor always. */
export interface OpenPlaces {
  /** Takes one place and gives what returns it, once; or says whose bound is met. */
  enter(agentId: string): (() => void) | ShareFull
}

export function createOpenPlaces(bounds: ShareBounds): OpenPlaces {
  const share = createFairShare(bounds)
  return {
    enter(agentId) {
      const full = share.take(agentId, 1)
      if (full !== null) return full
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        share.giveBack(agentId, 1)
      }
    },
  }
}

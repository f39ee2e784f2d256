import { createFairShare } from './fair-share.ts'
import type { ShareBounds, ShareFull } from './fair-share.ts'

/**
 * Limits things that agents keep open at the same time, such as connections: each agent has a share and a guaranteed
 * floor.
 */
export interface OpenPlaces {
  /** Takes one place and returns the function that releases it, once; or the limit that was reached. */
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

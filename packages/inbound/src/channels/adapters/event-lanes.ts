import type { Clock } from '@flotilla/protocol/clock'

/** How long shutdown waits for work in progress, in milliseconds. The platform redelivers unfinished messages. */
const idleMaxMs = 3000

export interface EventLanes {
  /**
   * Runs the work after earlier work of the same conversation and returns true. Returns false
   * without running it if too much work is in progress.
   */
  readonly run: (conversationId: string, work: () => Promise<void>) => boolean
  /** Resolves when no work is in progress, or after a time limit. */
  readonly idle: (clock: Clock) => Promise<void>
}

/**
 * Runs work of one conversation in order and different conversations in parallel. Rejections are ignored; the work
 * must handle its errors.
 */
export function createEventLanes(underWayMax: number): EventLanes {
  const lanes = new Map<string, Promise<void>>()
  let underWay = 0

  return {
    run: (conversationId, work) => {
      if (underWay >= underWayMax) return false
      underWay++
      const before = lanes.get(conversationId) ?? Promise.resolve()
      const done = before
        .then(work)
        .catch(() => {})
        .finally(() => {
          underWay--
          if (lanes.get(conversationId) === done) lanes.delete(conversationId)
        })
      lanes.set(conversationId, done)
      return true
    },
    idle: async (clock) => {
      const settled = new AbortController()
      const all = async () => {
        while (lanes.size > 0) await Promise.all(lanes.values())
      }
      await Promise.race([all(), clock.sleep(idleMaxMs, settled.signal).catch(() => {})])
      settled.abort()
    },
  }
}

import type { Clock } from '@flotilla/protocol/clock'

/** So long what is under way is waited for at the end, milliseconds; what takes longer comes again. */
const idleMaxMs = 3000

export interface EventLanes {
  /** Does the work after what was given for the same conversation before. False where there is too much under way, and nothing is done. */
  readonly run: (conversationId: string, work: () => Promise<void>) => boolean
  /** Resolves when nothing is under way, or after a bound. */
  readonly idle: (clock: Clock) => Promise<void>
}

/** What comes from one conversation stays in order, others are not held up by it. What work rejects with is its own concern. */
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

import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { ratePerMinute } from '@flotilla/protocol/rate-buckets'
import type { RateBucket } from '@flotilla/protocol/rate-buckets'
import type { Journal } from '@flotilla/foundation/journal'
import { createCallRate } from './call-rate.ts'

/**
 * Limits the calls per minute of each agent, by endpoint bucket. Counts are in memory and belong to one mesh
 * process.
 */
export interface RateLimits {
  /** Counts the call, or throws the Problem `rate-limited` with the seconds to wait. */
  take(agentId: string, bucket: RateBucket): void
  /** Drops the agent's counts, because the agent is deleted. */
  forget(agentId: string): void
}

const bucketNames = Object.keys(ratePerMinute) as RateBucket[] // keys of a literal

export function createRateLimits(deps: {
  readonly clock: Clock
  readonly perMinute: () => Readonly<Record<RateBucket, number>>
  readonly journal: Journal
}): RateLimits {
  const { clock, perMinute, journal } = deps
  const rates = new Map(
    bucketNames.map((bucket) => [
      bucket,
      createCallRate({ clock, perMinute: () => perMinute()[bucket], what: bucket }),
    ]),
  )

  return {
    take(agentId, bucket) {
      const rate = rates.get(bucket)
      try {
        rate?.take(agentId)
      } catch (error) {
        // Only the first refusal in a window is recorded, so that an agent in a loop cannot flood the audit log.
        if (error instanceof Problem && rate?.isFirstRefusal(agentId)) {
          journal.append({
            actor: `agent:${agentId}`,
            action: 'rate.refused',
            subject: bucket,
            detail: { per_minute: perMinute()[bucket] },
          })
        }
        throw error
      }
    },
    forget: (agentId) => rates.forEach((rate) => rate.forget(agentId)),
  }
}

import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { RateBucket } from '../config/rate-per-minute.ts'
import { ratePerMinute } from '../config/rate-per-minute.ts'
import type { Journal } from '../journal/journal.ts'
import { createCallRate } from './call-rate.ts'

/** Which bucket a call on the agent door is taken from: the first row that fits, by method and the start of the path. */
const rows: readonly { readonly method?: string; readonly path: string; readonly bucket: RateBucket }[] = [
  { path: '/v1/', bucket: 'llm' },
  { method: 'GET', path: '/mesh/blackboard', bucket: 'blackboard_read' },
  { path: '/mesh/blackboard', bucket: 'blackboard_write' },
  { path: '/mesh/http', bucket: 'http' },
  { path: '/mesh/credentials', bucket: 'credentials' },
  { path: '/mesh/notify', bucket: 'notify' },
  { path: '/mesh/tasks', bucket: 'tasks' },
  { path: '/mesh/artifacts', bucket: 'artifacts' },
]

/** Pure. */
export function rateBucketOf(method: string, path: string): RateBucket {
  const row = rows.find(
    (one) => path.startsWith(one.path) && (one.method === undefined || one.method === method),
  )
  return row?.bucket ?? 'other'
}

/** Calls per minute of each agent, by what they ask for. In memory, within one mesh. */
export interface RateLimits {
  /** Counts the call, or throws the Problem `rate-limited` with the seconds to wait. */
  take(agentId: string, bucket: RateBucket): void
  /** When the agent is deleted. */
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
        // Once in a window: an agent in a loop must not flood the journal.
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

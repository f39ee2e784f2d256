import type { Clock } from '@flotilla/protocol/clock'
import type { PermissionActionName } from '@flotilla/protocol/permission-actions'

/** Categories of denials for `tool_denials_24h`: the actions that `permissionActions` describes for people. */
export type DenialCategory = PermissionActionName

/** Refusals of the last 24 hours by agent. Only informs people; no decision depends on it. Lost at a restart. */
export interface DenialCounts {
  add(agentId: string, category: DenialCategory): void
  /** `tool_denials_24h` of one agent. */
  last24Hours(agentId: string): Readonly<Partial<Record<DenialCategory, number>>>
  /** Drops the agent's counts, because the agent is deleted. */
  forget(agentId: string): void
}

const hourMs = 3600 * 1000
const hoursKept = 24

interface Bucket {
  readonly hour: number
  readonly counts: Partial<Record<DenialCategory, number>>
}

/** Counts in whole hours: a count covers at least 23 and at most 24 hours. */
export function createDenialCounts(clock: Clock): DenialCounts {
  const bucketsByAgent = new Map<string, Bucket[]>()

  function liveBuckets(agentId: string): Bucket[] {
    const hour = Math.floor(clock.now() / hourMs)
    const live = (bucketsByAgent.get(agentId) ?? []).filter((bucket) => bucket.hour > hour - hoursKept)
    if (live.length === 0) bucketsByAgent.delete(agentId)
    else bucketsByAgent.set(agentId, live)
    return live
  }

  return {
    add(agentId, category) {
      const hour = Math.floor(clock.now() / hourMs)
      const buckets = liveBuckets(agentId)
      let bucket = buckets.at(-1)
      if (bucket?.hour !== hour) {
        bucket = { hour, counts: {} }
        buckets.push(bucket)
        bucketsByAgent.set(agentId, buckets)
      }
      bucket.counts[category] = (bucket.counts[category] ?? 0) + 1
    },
    last24Hours(agentId) {
      const total: Partial<Record<DenialCategory, number>> = {}
      for (const bucket of liveBuckets(agentId)) {
        for (const [category, count] of Object.entries(bucket.counts)) {
          total[category as DenialCategory] = (total[category as DenialCategory] ?? 0) + count
        }
      }
      return total
    },
    forget: (agentId) => void bucketsByAgent.delete(agentId),
  }
}

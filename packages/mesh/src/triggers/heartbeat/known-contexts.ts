import type { Clock } from '@flotilla/protocol/clock'
import type { HeartbeatTable, KnownContext } from './heartbeat-table.ts'

/**
 * How long whoever reached an agent may still change something there, milliseconds: a file of 50 MB into a small
 * container takes the longest.
 */
const handsOnMs = 300_000

/** Activity is what the logs of two days say; of an agent that nobody reached there is none after that, milliseconds. */
const activityMaxMs = 2 * 24 * 3_600_000

/**
 * What the mesh knows of agents that do not run, so that none is started only to find that there is nothing to do.
 *
 * - K1 What was read is kept only if nobody was at the agent: no run, and nobody who reached it within the time that
 *   such a call may take.
 * - K2 Whoever reaches an agent, for whatever reason, makes the mesh forget. So what is known is of a sandbox that
 *   nobody has had a reason to touch since, and data of a sandbox that does not run does not change.
 */
export interface KnownContexts {
  /** Somebody has a line to the agent now. */
  reached(agentId: string): void
  /** Null where it has to be asked. */
  recall(agentId: string): KnownContext | null
  keep(agentId: string, context: KnownContext): void
}

export function createKnownContexts(deps: {
  readonly table: HeartbeatTable
  readonly isBusy: (agentId: string) => boolean
  readonly clock: Clock
}): KnownContexts {
  const { table, clock } = deps
  const reachedAt = new Map<string, number>()
  return {
    reached: (agentId) => {
      reachedAt.set(agentId, clock.now())
      table.forgetKnown(agentId)
    },
    recall: (agentId) => {
      const known = table.knownOf(agentId)
      const isOld = known?.readAt !== undefined && clock.now() - known.readAt >= activityMaxMs
      return known && isOld ? { ...known, recentActivity: false } : known
    },
    keep: (agentId, context) => {
      const last = reachedAt.get(agentId) ?? -Infinity
      if (deps.isBusy(agentId) || clock.now() - last < handsOnMs) return
      table.know(agentId, { ...context, readAt: clock.now() })
    },
  }
}

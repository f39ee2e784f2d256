import type { Clock } from '@flotilla/protocol/clock'
import type { HeartbeatTable, KnownContext } from './heartbeat-table.ts'

/**
 * How long a caller who connected to an agent may still change its data, in milliseconds. The longest case is a file
 * of 50 MB.
 */
const handsOnMs = 300_000

/** Activity covers the logs of two days: an agent without connections for this time has none, in milliseconds. */
const activityMaxMs = 2 * 24 * 3_600_000

/**
 * Facts about agents that do not run, so that no agent is started only to find nothing to do.
 *
 * - K1 Facts are stored only if no run was active and no caller had connected within the time that a call may take.
 * - K2 Any connection to an agent deletes its facts. Stored facts therefore describe a sandbox that was not used
 * since, and the data of a stopped sandbox does not change.
 */
export interface KnownContexts {
  /** Called when a caller has connected to the agent; deletes the agent's facts. */
  reached(agentId: string): void
  /** Returns the stored facts; null if the agent has to be asked. */
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
